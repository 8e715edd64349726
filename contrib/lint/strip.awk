# Blanks out comments, strings and character constants of C, keeping lines
# and columns, and hands each line to check(text, original). For awk programs
# that are loaded after this one.
FNR == 1 { in_comment = 0; begin_file() }
{
    text = ""
    n = length($0)
    for (i = 1; i <= n; i++) {
        c = substr($0, i, 1)
        two = substr($0, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++; text = text " " }
            text = text " "
        } else if (two == "/*") {
            in_comment = 1; i++; text = text "  "
        } else if (two == "//") {
            break
        } else if (c == "\"" || c == "'") {
            quote = c
            text = text c
            for (i++; i <= n; i++) {
                c = substr($0, i, 1)
                if (c == "\\") { i++; text = text "  "; continue }
                if (c == quote) break
                text = text " "
            }
            text = text quote
        } else {
            text = text c
        }
    }
    check(text, $0)
}
