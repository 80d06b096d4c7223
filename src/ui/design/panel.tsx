import { type ReactNode, useId } from 'react'
import type { lookOfCause } from './causes.ts'
import './panel.css'

/** A part of a page with a heading of its own; `aside` stands at the end of its line. */
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

/** As high as the rows, and visible only after a short wait. */
export function Skeleton() {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: ROWS }, (_, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- they are all the same
        <span key={index} className="skeleton-row">
          <i />
          <i />
          <i />
        </span>
      ))}
    </div>
  )
}

/** Beside the words of the cause: its tone and its letter. */
export function CauseMark({ tone, letter }: ReturnType<typeof lookOfCause>) {
  return (
    <span className={`cause-mark ${tone}`} aria-hidden="true">
      {letter}
    </span>
  )
}
