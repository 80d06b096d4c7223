export interface Column {
  width: number
  right?: boolean
}

/** One row of a table, as many lines as its longest cell needs. */
export function formatColumns(columns: readonly Column[], cells: readonly string[]): string[] {
  const wrapped = columns.map(({ width }, index) => cells[index]!.split('\n').flatMap((part) => wrap(part, width)))
  const height = Math.max(...wrapped.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) =>
    columns
      .map(({ width, right }, index) => {
        const text = wrapped[index]![line] ?? ''
        return right ? text.padStart(width) : text.padEnd(width)
      })
      .join(' ')
      .trimEnd(),
  )
}

/** Lines of at most `width` characters, broken between words; a longer word is broken, too. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width))
  }
  return [...lines, line]
}
