import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ArrowLeftIcon } from '../design/icons.tsx'
import { useTitle } from './page.tsx'
import { BackLink } from './places.tsx'
import '../design/detail.css'
import '../design/panel.css'

const LISTS = {
  '/agents': 'Agents',
  '/deployments': 'Deployments',
  '/failures': 'Failures',
  '/groups': 'Groups',
  '/schedules': 'Schedules',
} as const

interface DetailHeadProps {
  /** The list that contains the thing. */
  list: keyof typeof LISTS
  name: string
  /** The state of the thing, shown beside the name. */
  mark: ReactNode
  acts: ReactNode
  /** Notes below the name. */
  children: ReactNode
}

/** The head of a page about one thing. */
export function DetailHead({ list, name, mark, acts, children }: DetailHeadProps) {
  return (
    <header className="page-head">
      <div className="back-place">
        <BackLink to={list} className="back-link">
          <ArrowLeftIcon /> {LISTS[list]}
        </BackLink>
      </div>
      <h1 tabIndex={-1}>{name}</h1>
      {mark}
      <div className="page-actions">{acts}</div>
      {children}
    </header>
  )
}

export type Fact = readonly [name: string, value: ReactNode]

/** A card of names and values; `children` are above them. */
export function FactsCard(props: { title: string; facts: readonly Fact[]; children?: ReactNode }) {
  const { title, facts, children } = props
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <dl className="facts-table">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** Shown for something that does not exist, or that the user may not see. `noun`: `agent` */
export function Missing(props: { noun: string; list: keyof typeof LISTS; why?: string }) {
  const { noun, list, why = 'It does not exist, or it is in a project that you do not see.' } = props
  useTitle(`There is no such ${noun}`)
  return (
    <div className="empty">
      <h1 tabIndex={-1}>There is no such {noun}</h1>
      <p>{why}</p>
      <Link to={list} className="button">
        To the {LISTS[list].toLowerCase()}
      </Link>
    </div>
  )
}
