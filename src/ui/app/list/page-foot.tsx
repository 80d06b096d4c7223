import { Button } from '../../design/button.tsx'
import { count, counted } from '../../words/count.ts'

interface Props {
  /** `agent` */
  noun: string
  /** On this page, and before it. */
  rows: number
  offset: number
  /** Null if there is none. */
  first: (() => void) | null
  next: (() => void) | null
}

/** Below a list: which rows these are, and the way to others. */
export function PageFoot({ noun, rows, offset, first, next }: Props) {
  const isPart = next !== null || offset > 0
  return (
    <footer className="table-foot">
      {rows > 0 && <span>{isPart ? `${count(offset + 1)} to ${count(offset + rows)}` : counted(rows, noun)}</span>}
      {first && <Button onClick={first}>First ones</Button>}
      {next && <Button onClick={next}>More</Button>}
    </footer>
  )
}
