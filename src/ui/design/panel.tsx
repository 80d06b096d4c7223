import { type ReactNode, useId } from 'react'
import type { lookOfCause } from './causes.ts'
import './panel.css'

/** A part of a page with a heading; `aside` is at the end of the heading's line. */
export function Panel(props: { title: string; aside?: ReactNode; className?: string; children: ReactNode }) {
  const { title, aside, className, children } = props
  const id = useId()
  return (
    <section className={className === undefined ? 'panel' : `panel ${className}`} aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        {aside !== undefined && <div className="panel-aside">{aside}</div>}
      </header>
      {children}
    </section>
  )
}

const ROWS = 12

/** A placeholder as high as the rows; visible only after a short wait. */
export function Skeleton() {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: ROWS }, (_, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- equal ones
        <span key={index} className="skeleton-row">
          <i />
          <i />
          <i />
        </span>
      ))}
    </div>
  )
}

/** The mark of a cause beside its words: its tone and letter. */
export function CauseMark({ tone, letter }: ReturnType<typeof lookOfCause>) {
  return (
    <span className={`cause-mark ${tone}`} aria-hidden="true">
      {letter}
    </span>
  )
}
