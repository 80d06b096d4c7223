import { useId, type ReactNode } from 'react'
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
