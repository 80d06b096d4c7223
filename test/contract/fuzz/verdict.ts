/** What no answer may show: where the code lies, what it is made of, and how it asks the database. */
const INTERNALS = [
  /\bat (async )?[\w.<>]+ \(?(file:|\/|node:)/,
  /node_modules|node:internal|\.ts:\d+|file:\/\//,
  /prisma|\bpg_|postgres/i,
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^"]*\b(FROM|SET|VALUES|WHERE)\b/,
  /violates|syntax error at or near|invalid input syntax|(relation|column|function|operator) \\?"?[^ ]* does not exist|out of range for type|invalid byte sequence/,
  /ECONN|EPIPE|ENOENT|Cannot read propert|is not a function|is not iterable|Maximum call stack/,
]

/** Of an answer's text, what is wrong with it; what was asked may come back in it. */
export function internalsIn(text: string, asked = ''): string[] {
  if (text.includes('"INTERNAL"')) return [`a masked error: ${text.slice(0, 500)}`]
  if (text.includes('Unexpected error')) return [`a masked error: ${text.slice(0, 500)}`]
  return INTERNALS.flatMap((pattern) => {
    const found = pattern.exec(text)?.[0]
    return found === undefined || asked.includes(found) ? [] : [`${String(pattern)} in ${text.slice(0, 500)}`]
  })
}
