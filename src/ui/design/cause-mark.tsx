import type { lookOfCause } from './causes.ts'
import './panel.css'

/** Beside the words of the cause: its tone and its letter. */
export function CauseMark({ tone, letter }: ReturnType<typeof lookOfCause>) {
  return (
    <span className={`cause-mark ${tone}`} aria-hidden="true">
      {letter}
    </span>
  )
}
