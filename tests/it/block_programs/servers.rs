//! nginx and Apache in a namespace: listed addresses get a 403, others do not, and a refused list
//! changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::namespace::{Network, Process};
use super::{
    LISTED, LISTED_AS, SPARED, assert_refused, empty_list, has_programs, large_list, list_of_log,
    open_folder, sample, stage,
};
use crate::harness::{Harness, Run, finish};

/// The folder of Apache's modules on Debian.
const MODULES: &str = "/usr/lib/apache2/modules";

/// Starts nginx in the namespace of the server, with these directives in `http`; `None`, with a
/// message, if it is missing.
pub(super) fn start_nginx(
    test: &str,
    harness: &Harness,
    network: &Network,
    http: &str,
) -> Option<Process> {
    if !has_programs(test, &["nginx"]) {
        return None;
    }
    open_folder(harness);
    fs::create_dir_all(harness.path("site")).unwrap();
    harness.file("site/index.html", "ok\n");
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path tmp-{name};"))
        .concat();
    let conf = format!(
        "user root; daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
        events {{ worker_connections 64; }}
        http {{ {temporary} access_log off; {http}
            server {{ listen 80; listen [::]:80; listen 8080; listen [::]:8080; root site; SERVER }}
        }}\n"
    );
    let server = if harness.path("conf.d/nginx-geo.conf").exists() {
        "if ($probewatch_block) { return 403; }"
    } else {
        ""
    };
    harness.file("nginx.conf", conf.replace("SERVER", server));
    let words = nginx_command(harness);
    let words: Vec<_> = words.split(' ').collect();
    Some(network.serve(network.server.program(words[0]).args(&words[1..]), 80))
}

/// nginx with the configuration of [`start_nginx`].
pub(super) fn nginx_command(harness: &Harness) -> String {
    let folder = harness.path("");
    let folder = folder.display().to_string();
    format!("nginx -e {folder}/error.log -p {folder} -c {folder}/nginx.conf")
}

/// A server in a namespace, the script that gives it lists, and the file that it includes.
struct Stage {
    harness: Harness,
    network: Network,
    target: PathBuf,
    script: &'static str,
    variable: (&'static str, String),
    _server: Process,
}

impl Stage {
    /// nginx, with the format `nginx` or `nginx-geo`.
    fn nginx(test: &str, format: &str) -> Option<Self> {
        let harness = stage();
        let network = Network::new(test, &[&LISTED[..], &SPARED].concat())?;
        let target = harness.path(format!("conf.d/{format}.conf"));
        fs::create_dir(harness.path("conf.d")).unwrap();
        // The variable of `geo` must exist.
        if format == "nginx-geo" {
            fs::copy(empty_list(&harness, format), &target).unwrap();
        }
        let server = start_nginx(test, &harness, &network, "include conf.d/*.conf;")?;
        let variable = ("NGINX", nginx_command(&harness));
        Some(Self {
            harness,
            network,
            target,
            script: "load-nginx.sh",
            variable,
            _server: server,
        })
    }

    fn load(&self, list: &Path) -> Run {
        let mut command = self.network.server.program(sample(self.script));
        finish(
            command
                .arg(list)
                .arg(&self.target)
                .env(self.variable.0, &self.variable.1),
        )
    }

    fn load_ok(&self, list: &Path) {
        let run = self.load(list);
        assert_eq!(
            (run.code, run.stderr.as_str(), run.text().as_str()),
            (0, "", ""),
            "{}",
            list.display()
        );
        assert_eq!(fs::read(&self.target).unwrap(), fs::read(list).unwrap());
        self.assert_nothing_left();
    }

    /// No temporary file is next to the target.
    fn assert_nothing_left(&self) {
        let name = self.target.file_name().unwrap().to_str().unwrap();
        let entries = fs::read_dir(self.target.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = entries
            .filter(|entry| entry.starts_with(name) && entry != name)
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Waits until each of these sources gets this status.
    fn wait_for(&self, sources: &[&str], status: u16) {
        for source in sources {
            self.network.wait_for(source, 80, status);
        }
    }

    /// Lists take effect: a list, the same list again, and an empty one.
    fn assert_enforces(&self, format: &str) {
        self.wait_for(&LISTED, 200);
        let list = list_of_log(&self.harness, format);
        for _ in 0..2 {
            self.load_ok(&list);
            self.wait_for(&LISTED, 403);
            self.wait_for(&SPARED, 200);
        }
        self.load_ok(&empty_list(&self.harness, format));
        self.wait_for(&LISTED, 200);
        self.wait_for(&SPARED, 200);
    }

    /// A broken list changes neither the file nor what the server does. Also `refused`, which only
    /// the server can refuse.
    fn assert_keeps_the_old_list(&self, format: &str, directive: &str, refused: &str) {
        let good = list_of_log(&self.harness, format);
        let text = fs::read_to_string(&good).unwrap();
        let broken = [
            refused.to_owned(),
            text.replace(LISTED_AS[0], "8.8.8.888"),
            text.replace(LISTED_AS[0], "8.0.0.0/8"),
            text.replace(LISTED_AS[2], "2000::/3"),
            format!("{text}{directive}\n"),
        ];
        // First without an old list, then with one.
        for has_list in [false, true] {
            let before = fs::read(&self.target).unwrap_or_default();
            for text in &broken {
                let list = self.harness.file("broken", text);
                assert_refused(&self.load(&list), &list);
                assert_eq!(fs::read(&self.target).unwrap_or_default(), before, "{text}");
                self.assert_nothing_left();
            }
            self.wait_for(&SPARED, 200);
            self.wait_for(&LISTED, if has_list { 403 } else { 200 });
            self.load_ok(&good);
            self.wait_for(&LISTED, 403);
        }
    }

    /// A killed run left a list that was not tested, and the old one next to it.
    fn assert_recovers(&self, format: &str) {
        let good = list_of_log(&self.harness, format);
        self.load_ok(&good);
        let old = PathBuf::from(format!("{}.old", self.target.display()));
        fs::rename(&self.target, &old).unwrap();
        fs::write(&self.target, "rubbish\n").unwrap();
        let broken = self.harness.file("broken", "rubbish\n");
        assert_refused(&self.load(&broken), &broken);
        assert_eq!(fs::read(&self.target).unwrap(), fs::read(&good).unwrap());
        self.assert_nothing_left();
        self.load_ok(&good);
        self.wait_for(&LISTED, 403);
    }
}

#[test]
fn nginx_refuses_listed_addresses() {
    let Some(stage) = Stage::nginx("nginx_refuses_listed_addresses", "nginx") else {
        return;
    };
    stage.assert_enforces("nginx");
    stage.assert_keeps_the_old_list("nginx", "include /etc/hostname;", "deny 8.8.8.8;\n}\n");
    stage.assert_recovers("nginx");
}

#[test]
fn nginx_refuses_listed_addresses_by_geo() {
    let Some(stage) = Stage::nginx("nginx_refuses_listed_addresses_by_geo", "nginx-geo") else {
        return;
    };
    stage.assert_enforces("nginx-geo");
    stage.assert_keeps_the_old_list(
        "nginx-geo",
        "include /etc/hostname;",
        "geo $probewatch_block {\n    default 0;\n    8.8.8.8 1;\n",
    );
    stage.assert_recovers("nginx-geo");
}

/// The file is kept if nginx does not run, so that a later run tries again.
#[test]
fn a_list_for_an_nginx_that_does_not_run() {
    let test = "a_list_for_an_nginx_that_does_not_run";
    let harness = stage();
    if !has_programs(test, &["nginx"]) {
        return;
    }
    let target = harness.file("probewatch.conf", "deny 1.2.3.4;\n");
    harness.file(
        "nginx.conf",
        format!(
            "pid nginx.pid; error_log error.log; events {{}} http {{ include {}; }}",
            target.display()
        ),
    );
    let list = list_of_log(&harness, "nginx");
    let run = finish(
        super::program(sample("load-nginx.sh").to_str().unwrap())
            .arg(&list)
            .arg(&target)
            .env("NGINX", nginx_command(&harness)),
    );
    assert_refused(&run, &list);
    assert_eq!(fs::read_to_string(&target).unwrap(), "deny 1.2.3.4;\n");
}

#[test]
fn nginx_takes_100_000_addresses() {
    let Some(stage) = Stage::nginx("nginx_takes_100_000_addresses", "nginx-geo") else {
        return;
    };
    stage.load_ok(&large_list(&stage.harness, "nginx-geo"));
    stage.wait_for(&["8.8.8.8", "8.8.4.4"], 403);
    stage.wait_for(&SPARED, 200);
}

/// Apache in the namespace, which includes the list as in `apache-setup.conf`.
fn apache(test: &str) -> Option<Stage> {
    if !has_programs(test, &["apache2"]) {
        return None;
    }
    let harness = stage();
    open_folder(&harness);
    let network = Network::new(test, &[&LISTED[..], &SPARED].concat())?;
    let target = harness.path("probewatch.list");
    for (path, text) in [
        ("site/index.html", "ok\n"),
        ("site/closed/index.html", "secret\n"),
        ("site/open/index.html", "open\n"),
    ] {
        fs::create_dir_all(harness.path(path).parent().unwrap()).unwrap();
        harness.file(path, text);
    }
    let setup = fs::read_to_string(sample("apache-setup.conf")).unwrap();
    harness.file(
        "setup.conf",
        setup.replace("/etc/apache2/probewatch.list", target.to_str().unwrap()),
    );
    harness.file("apache2.conf", apache_conf(&harness));
    let control = apachectl(&harness);
    let server = network.serve(
        network
            .server
            .program("apache2")
            .args(["-D", "FOREGROUND", "-f"])
            .arg(harness.path("apache2.conf")),
        80,
    );
    Some(Stage {
        harness,
        network,
        target,
        script: "load-apache.sh",
        variable: ("APACHECTL", control),
        _server: server,
    })
}

fn apache_conf(harness: &Harness) -> String {
    let root = harness.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let load: String = ["mpm_prefork", "authz_core", "authz_host", "dir"]
        .map(|name| format!("<IfModule !{name}_module>\nLoadModule {name}_module {MODULES}/mod_{name}.so\n</IfModule>\n"))
        .concat();
    format!(
        "ServerRoot \"{root}\"\nDocumentRoot \"{root}/site\"\nPidFile {root}/apache.pid\nErrorLog {root}/error.log\nMutex posixsem\n\
         Listen 0.0.0.0:80\nListen [::]:80\nServerName site.example\n{load}User nobody\nGroup nogroup\n\
         StartServers 2\nMinSpareServers 1\nMaxSpareServers 2\nServerLimit 4\nMaxRequestWorkers 4\nKeepAlive Off\nDirectoryIndex index.html\n\
         <Directory \"{root}/site\">\nRequire all granted\n</Directory>\n\
         <Directory \"{root}/site/closed\">\nRequire all denied\n</Directory>\n\
         Include {root}/setup.conf\n"
    )
}

/// The control program for this configuration: that of Debian if it is installed, or one that does
/// the same.
fn apachectl(harness: &Harness) -> String {
    let root = harness.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let script = if Path::new("/usr/sbin/apachectl").exists() {
        harness.file("envvars", format!("export APACHE_RUN_DIR={root}/run APACHE_LOCK_DIR={root}/lock APACHE_RUN_USER=nobody\n"));
        format!("export APACHE_CONFDIR={root}\nexec /usr/sbin/apachectl \"$@\"\n")
    } else {
        format!(
            "case $1 in graceful) set -- -k graceful ;; esac\nexec apache2 -f {root}/apache2.conf \"$@\"\n"
        )
    };
    let path = harness.file("control", format!("#!/bin/sh\n{script}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn apache_refuses_listed_addresses() {
    let Some(stage) = apache("apache_refuses_listed_addresses") else {
        return;
    };
    stage.assert_enforces("apache");
    // The list adds to the rules of other sections.
    stage.load_ok(&list_of_log(&stage.harness, "apache"));
    stage.wait_for(&LISTED, 403);
    for source in SPARED {
        let status = |path| stage.network.status(source, 80, path);
        assert_eq!(
            (status("/open/"), status("/closed/")),
            (200, 403),
            "{source}"
        );
    }
    stage.load_ok(&empty_list(&stage.harness, "apache"));
    stage.wait_for(&LISTED, 200);
    let cut = "<RequireAll>\n    Require all granted\n    Require not ip 8.8.8.8\n";
    stage.assert_keeps_the_old_list("apache", "Include /etc/hostname", cut);
    stage.assert_recovers("apache");
}
