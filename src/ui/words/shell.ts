/** Splits a line into words like a shell, without expansions; null if a quote is not closed. */
export function shellWords(line: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  let quote: string | null = null
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!
    if (quote === "'") {
      if (char === quote) quote = null
      else word += char
    } else if (char === '\\' && at + 1 < line.length && (quote === null || '"\\$`\n'.includes(line[at + 1]!))) {
      at++
      // A backslash before a line break joins the lines.
      if (line[at] !== '\n') word = (word ?? '') + line[at]!
    } else if (quote === '"') {
      if (char === quote) quote = null
      else word += char
    } else if (char === "'" || char === '"') {
      quote = char
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + char
  }
  if (quote !== null) return null
  return word === null ? words : [...words, word]
}

/** Quotes a text as one word of a shell. */
export function shellQuoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
