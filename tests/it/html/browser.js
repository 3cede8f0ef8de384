"use strict";
// Opens pages in Chromium and checks what a reader and a browser do with them.
//
// Arguments: a folder with puppeteer-core and axe-core in node_modules, the path of Chromium, and a JSON file of
// [{"name", "file", "screenshots"}]. Prints what is wrong, one line each, and exits with 1.

const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const { pathToFileURL } = require("node:url");

const [folder, executablePath, list] = process.argv.slice(2);
const load = createRequire(`${folder}/package.json`);
const puppeteer = load("puppeteer-core");
const axe = load("axe-core").source;

const SCHEMES = ["light", "dark"];
const WIDTHS = [360, 768, 1280, 1920];

const faults = [];

async function main() {
  const pages = JSON.parse(readFileSync(list, "utf8"));
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const browser = await puppeteer.launch({ executablePath, args });
  try {
    for (const spec of pages) {
      for (const scheme of SCHEMES) {
        for (const width of WIDTHS) {
          await view(browser, spec, scheme, width);
        }
      }
      await use(browser, spec);
      await drillDown(browser, spec);
      await withoutScript(browser, spec);
      await printed(browser, spec);
    }
  } finally {
    await browser.close();
  }
  faults.forEach((fault) => console.log(fault));
  console.log(`${pages.length} pages, ${faults.length} faults`);
  process.exitCode = faults.length ? 1 : 0;
}

// Opens a page; whatever it requests or complains about is a fault.
async function open(browser, spec, width = 1600, scheme = "light", hasScript = true) {
  const url = pathToFileURL(spec.file).href;
  const page = await browser.newPage();
  const fault = (what) => faults.push(`${spec.name}: ${what}`);
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && fault(`console: ${message.text()}`));
  page.on("pageerror", (error) => fault(`script error: ${error.message}`));
  page.on("request", (request) => request.url() === url || fault(`a request: ${request.url()}`));
  page.on("dialog", async (dialog) => {
    fault(`a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  await page.setOfflineMode(true);
  await page.setJavaScriptEnabled(hasScript);
  await page.setViewport({ width, height: 1000 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url);
  return { page, fault };
}

// The layout and the accessibility of a page.
async function view(browser, spec, scheme, width) {
  const { page, fault } = await open(browser, spec, width, scheme);
  const where = `${scheme}, ${width} pixels`;
  const found = await page.evaluate(() => ({
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    background: getComputedStyle(document.body).backgroundColor,
    headings: document.querySelectorAll("h1").length,
    hit: window.hit,
  }));
  if (found.overflow > 0) {
    fault(`${where}: wider than the window by ${found.overflow} pixels`);
  }
  const isDark = found.background.match(/\d+/g).slice(0, 3).every((part) => Number(part) < 64);
  if (isDark !== (scheme === "dark")) {
    fault(`${where}: the background is ${found.background}`);
  }
  if (found.headings !== 1) {
    fault(`${where}: ${found.headings} main headings`);
  }
  if (found.hit !== undefined) {
    fault(`${where}: text of the log ran as a script`);
  }
  if (spec.screenshots) {
    await page.screenshot({ path: `${spec.screenshots}/${spec.name}-${scheme}-${width}.png`, fullPage: true });
    const paint = await page.evaluate(() => performance.getEntriesByType("paint").at(-1)?.startTime);
    console.log(`${spec.name}, ${where}: first paint after ${Math.round(paint)} ms`);
  }
  await page.evaluate(axe);
  const result = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, help, nodes } of result.violations) {
    fault(`${where}: axe ${id}: ${help}: ${nodes[0].html}`);
  }
  await page.close();
}

// Sorts and filters by real clicks and keys.
async function use(browser, spec) {
  const { page, fault } = await open(browser, spec);
  for (const summary of await page.$$("summary")) {
    await summary.click();
  }
  for (const data of await page.$$(".data.long")) {
    const rows = () => data.$$eval("tbody tr", (rows) => rows.map((row) => row.textContent));
    const numbers = (column) =>
      data.$$eval("tbody tr", (rows, column) => rows.map((row) => Number(row.cells[column].textContent.replaceAll(",", ""))), column);
    const all = await rows();
    const column = await data.$$eval("thead th", (heads) => heads.findIndex((head) => head.classList.contains("n") && head.textContent !== "bytes"));
    const head = (await data.$$("thead th"))[column];
    const button = await head.$("button");
    const direction = () => head.evaluate((head) => head.getAttribute("aria-sort"));
    await button.click();
    let sorted = await numbers(column);
    if ((await direction()) !== "descending" || sorted.some((n, at) => at > 0 && n > sorted[at - 1])) {
      fault(`a click does not sort column ${column}: ${sorted.slice(0, 9)}`);
    }
    await button.focus();
    await page.keyboard.press("Enter");
    sorted = await numbers(column);
    if ((await direction()) !== "ascending" || sorted.some((n, at) => at > 0 && n < sorted[at - 1])) {
      fault(`a key does not sort column ${column}: ${sorted.slice(0, 9)}`);
    }
    const word = await data.$eval("tbody th", (cell) => cell.textContent.split(" ")[0].slice(0, 30).toLowerCase());
    const status = () => data.$eval(".shown", (status) => status.textContent);
    const input = await data.$("input");
    await input.click();
    await page.keyboard.type(word);
    const found = await rows();
    if (found.length === 0 || found.length === all.length + 1 || found.some((row) => !row.toLowerCase().includes(word))) {
      fault(`the filter '${word}' shows ${found.length} of ${all.length} rows`);
    }
    await page.keyboard.type(" no such row");
    if ((await rows()).length !== 0 || !(await status()).startsWith("0 of ")) {
      fault(`a filter that nothing matches shows rows: ${await status()}`);
    }
    await input.click({ count: 3 });
    await page.keyboard.press("Backspace");
    const more = await data.$(".tools button");
    if (await more.isVisible()) {
      await more.click();
    }
    const visible = await data.$$eval("tbody tr", (rows) => rows.filter((row) => row.offsetHeight > 0).length);
    if (visible !== all.length) {
      fault(`${visible} of ${all.length} rows are visible after a click`);
    }
  }
  await page.close();
}

// Follows a client, a path and a day to their rows, by a click and by a key.
async function drillDown(browser, spec) {
  const { page, fault } = await open(browser, spec);
  if (!(await page.$("#pairs .long"))) {
    await page.close();
    return;
  }
  const rows = () => page.$$eval("#pairs tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const all = (await rows()).length;
  for (const summary of await page.$$("summary")) {
    await summary.click();
  }
  for (const [section, cell] of [["clients", 0], ["paths", 1]]) {
    for (const link of (await page.$$(`#${section} a.pairs`)).slice(0, 3)) {
      const name = await link.evaluate((link) => link.textContent);
      await link.focus();
      await page.keyboard.press("Enter");
      const found = await rows();
      if (found.length === 0 || found.some((row) => row[cell] !== name)) {
        fault(`${section}: ${name} leads to ${found.length} of ${all} rows`);
      }
    }
  }
  const day = await page.$("#timeline a.pairs");
  if (day) {
    const name = await day.evaluate((link) => link.dataset.day);
    await day.click();
    const found = await rows();
    if (found.length === 0 || found.some((row) => !row.join(" ").includes(name))) {
      fault(`${name} leads to ${found.length} of ${all} rows`);
    }
  }
  await page.focus("#pairs input");
  await page.keyboard.type(" ");
  if ((await rows()).length === 0) {
    fault("what is typed after a link keeps its rows");
  }
  await page.close();
}

// Everything is visible without the script.
async function withoutScript(browser, spec) {
  const { page, fault } = await open(browser, spec, 1600, "light", false);
  const hidden = await page.$$eval("section > .data tbody tr", (rows) => rows.filter((row) => row.offsetHeight === 0).length);
  if (hidden > 0) {
    fault(`${hidden} rows are hidden without the script`);
  }
  if (await page.$eval("body", () => document.querySelector(".tools:not([hidden]), thead button") !== null)) {
    fault("controls without the script");
  }
  await page.close();
}

async function printed(browser, spec) {
  const { page, fault } = await open(browser, spec, 1600, "dark");
  const pdf = await page.pdf({ format: "A4" });
  if (pdf.length < 5000) {
    fault(`printed: ${pdf.length} bytes`);
  }
  if (spec.screenshots) {
    require("node:fs").writeFileSync(`${spec.screenshots}/${spec.name}.pdf`, pdf);
  }
  await page.close();
}

main().catch((error) => {
  console.log(error.stack);
  process.exitCode = 1;
});
