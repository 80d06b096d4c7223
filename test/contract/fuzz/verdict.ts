/** Internals that no answer may show: paths of the code, its libraries, and its SQL. */
const INTERNALS = [
  /\bat (async )?[\w.<>]+ \(?(file:|\/|node:)/,
  /node_modules|node:internal|\.ts:\d+|file:\/\//,
  /prisma|\bpg_|postgres/i,
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^"]*\b(FROM|SET|VALUES|WHERE)\b/,
  /violates|syntax error at or near|invalid input syntax|(relation|column|function|operator) \\?"?[^ ]* does not exist|out of range for type|invalid byte sequence/,
  /ECONN|EPIPE|ENOENT|Cannot read propert|is not a function|is not iterable|Maximum call stack/,
]

/** The internals in the text of an answer; the request itself may come back in it. */
export function internalsIn(text: string, asked = ''): string[] {
  if (text.includes('"INTERNAL"')) return [`a masked error: ${text.slice(0, 500)}`]
  if (text.includes('Unexpected error')) return [`a masked error: ${text.slice(0, 500)}`]
  return INTERNALS.flatMap((pattern) => {
    const found = pattern.exec(text)?.[0]
    return found === undefined || asked.includes(found) ? [] : [`${String(pattern)} in ${text.slice(0, 500)}`]
  })
}
