import { stripVTControlCharacters } from 'node:util'

/** Breaks lines at spaces so that they take at most so many columns; what follows a break is indented. */
export function wrapText(text: string, columns: number, indent: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, columns, indent))
    .join('\n')
}

function wrapLine(line: string, columns: number, indent: number): string {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(/(?<=\S) +(?=\S)/)) {
    const longer = current === '' ? word : `${current} ${word}`
    if (current !== '' && widthOf(longer) > columns) {
      lines.push(current)
      current = ' '.repeat(indent) + word
    } else current = longer
  }
  return [...lines, current].join('\n')
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}
