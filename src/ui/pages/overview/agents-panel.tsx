import { Link } from '@tanstack/react-router'
import { Meter } from '../../charts/meter.tsx'
import { Panel } from '../../design/panel.tsx'
import { count } from '../../words/count.ts'
import type { Overview } from './use-overview.ts'

type Group = Overview['resourceGroups'][number]

const STATUS_WORDS = {
  ALIVE: 'alive',
  SUSPECT: 'silent',
  DRAINING: 'draining',
  LOST: 'lost',
} as const

/** How much of the agents' resources is in use, by their groups. */
export function AgentsPanel({ groups }: { groups: readonly Group[] }) {
  const shown = groups.filter(({ agents }) => agents.totalCount > 0)
  return (
    <Panel title="Agents" aside={<Link to="/agents">See all</Link>}>
      {shown.length === 0 ? (
        <p className="panel-empty">No agent has registered.</p>
      ) : (
        <div className="groups">
          {shown.map((group) => (
            <section key={group.id} className="group" aria-label={`Resource group ${group.name}`}>
              <h3>
                <span className="line-cut" title={group.name}>
                  {group.name}
                </span>
                <span className="group-agents">{agentWords(group)}</span>
              </h3>
              {group.slots.map(({ slot, utilisation }) => (
                <Meter key={slot} name={slot} share={utilisation} />
              ))}
            </section>
          ))}
        </div>
      )}
    </Panel>
  )
}

/** `12 alive, 1 silent, 1 draining`. */
function agentWords({ draining, agents: { edges } }: Group): string {
  const parts = Object.entries(STATUS_WORDS).flatMap(([status, words]) => {
    const number = edges.filter(({ node }) => node.status === status).length
    return number === 0 ? [] : [`${count(number)} ${words}`]
  })
  const words = parts.length === 0 ? 'none alive' : parts.join(', ')
  return draining ? `drained; ${words}` : words
}
