# Draws what `versus.sh` measured: a bar for each tool, its length the logarithm of its GB/s. Reads name, command, what it
# does, bytes, ns and GB/s, between tabs, the fastest first; prints the variables `rounds` and `cores`. Measures nothing.

function log10(x) { return log(x) / log(10) }
function across(x) { return left + (log10(x) - low) / (high - low) * (right - left) }
function short(x) { return x < 0.0995 ? sprintf("%.2g", x) : x < 9.95 ? sprintf("%.2f", x) : sprintf("%.1f", x) }
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    return text
}

{ name[NR] = $1; speed[NR] = $6 }

END {
    left = 185; right = 695; width = 760; top = 84; step = 32; bar = 20
    bottom = top + NR * step
    # Half of the slowest is where the axis begins: a bar of no length says nothing.
    low = log10(speed[NR] / 2)
    high = log10(speed[1] * 1.1)

    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"title desc\">\n", width, bottom + 60, width, bottom + 60
    print "<title id=\"title\">Gigabytes of an access log each tool reads in a second</title>"
    printf "<desc id=\"desc\">Bars on a logarithmic axis, the fastest first."
    for (i = 1; i <= NR; i++) printf " %s: %s.", escaped(name[i]), short(speed[i])
    print "</desc>"
    print "<style>"
    print "text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328 }"
    print ".paper { fill: #ffffff } .grid { stroke: #d1d9e0 } .fine { stroke: #eff2f5 } .quiet { fill: #59636e } .head { font-size: 16px; font-weight: 600 }"
    print ".ours { fill: #cf4a0a } .floor { fill: #a3abb4 } .other { fill: #4878a8 } .bold { font-weight: 600 } .value { stroke: #ffffff; stroke-width: 5px; paint-order: stroke }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #f0f6fc } .paper { fill: #0d1117 } .grid { stroke: #3d444d } .fine { stroke: #1c2128 } .quiet { fill: #9198a1 }"
    print ".value { stroke: #0d1117 } .ours { fill: #f0883e } .floor { fill: #6e7681 } .other { fill: #6ca0dc }"
    print "}"
    print "</style>"
    printf "<rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width, bottom + 60
    print "<text class=\"head\" x=\"20\" y=\"32\">Gigabytes of an access log each tool reads in a second</text>"
    printf "<text class=\"quiet\" x=\"20\" y=\"54\">%d cores, the log in the page cache, median of %d rounds. Gray: only counts newlines.</text>\n", cores, rounds

    for (decade = int(low) - 1; decade <= high; decade++)
        for (digit = 1; digit < 10; digit++) {
            x = digit * exp(decade * log(10))
            if (log10(x) < low || log10(x) > high) continue
            printf "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", digit == 1 ? "grid" : "fine", across(x), across(x), top - 8, bottom
            if (digit == 1) printf "<text class=\"quiet\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", across(x), bottom + 18, x
        }
    printf "<text class=\"quiet\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">GB/s, logarithmic</text>\n", (left + right) / 2, bottom + 42

    for (i = 1; i <= NR; i++) {
        y = top + (i - 1) * step
        kind = name[i] ~ /^probewatch/ ? "ours" : name[i] ~ /^(newlines|wc)/ ? "floor" : "other"
        weight = kind == "ours" ? "bold" : ""
        printf "<text class=\"%s\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", weight, left - 10, y + 15, escaped(name[i])
        printf "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", kind, left, y, across(speed[i]) - left, bar
        printf "<text class=\"value %s\" x=\"%.1f\" y=\"%d\">%s</text>\n", weight, across(speed[i]) + 7, y + 15, short(speed[i])
    }
    print "</svg>"
}
