export interface Example {
  /** Under which it stands. */
  heading: string
  policy: unknown
  /** Rows of the table below: how an attempt ended, and what follows. */
  outcomes: string[][]
}

/** The cells of the table's rows whose header begins like this. */
export function tableIn(text: string, header: string): string[][] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.startsWith(header))
  if (start < 0) throw new Error(`no table ${header}`)
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end < 0 ? undefined : end).map(cellsOf)
}

/** Every JSON block, with the table of outcomes that follows it. */
export function examplesIn(text: string): Example[] {
  const blocks = [...text.matchAll(/^```json\n(.*?)^```\n/gms)]
  return blocks.map((block, index) => {
    const before = text.slice(0, block.index)
    const after = text.slice(block.index + block[0].length, blocks[index + 1]?.index)
    const heading = [...before.matchAll(/^#{2,3} (.*)$/gm)].at(-1)![1]!
    const outcomes = after.includes(OUTCOMES) ? tableIn(after, OUTCOMES) : []
    return { heading, policy: JSON.parse(block[1]!) as unknown, outcomes }
  })
}

const OUTCOMES = '| the attempt ended with | then |'

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}
