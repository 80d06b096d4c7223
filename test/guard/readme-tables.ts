import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './source-files.ts'

/** The rows, cell by cell, of the tables below the README's heading; code quotes are taken off the first cell. */
export async function readmeRows(heading: string): Promise<string[][]> {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8')
  const section = text.split(/^(?=#{2,} )/m).find((part) => part.split('\n')[0]!.endsWith(` ${heading}`))
  if (section === undefined) throw new Error(`README.md has no heading "${heading}"`)
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const [first, ...rest] = row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim())
    return [first!.replaceAll('`', ''), ...rest]
  })
}
