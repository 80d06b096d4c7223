import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './source-files.ts'

/**
 * The rows, cell by cell, of the tables of a page whose first cell is code; code quotes are taken off that cell.
 * `heading`: only those below it, without its marks.
 */
export async function tableRows(page: string, heading?: string): Promise<string[][]> {
  const text = await proseOf(page)
  return rowsOf(heading === undefined ? text : sectionOf(text, page, heading)).map(([first, ...rest]) => [
    first!.replaceAll('`', ''),
    ...rest,
  ])
}

/** A page without its fenced blocks. */
export async function proseOf(page: string): Promise<string> {
  return (await readFile(join(ROOT, page), 'utf8')).replaceAll(/^ *```.*?^ *```$/gms, '')
}

/** The names that a text shows as code. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)
}

function sectionOf(text: string, page: string, heading: string): string {
  const section = text.split(/^(?=#{1,} )/m).find((part) => part.split('\n')[0]!.replace(/^#+ /, '') === heading)
  if (section === undefined) throw new Error(`${page} has no heading "${heading}"`)
  return section
}

function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((row) =>
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}
