import type { ReactNode } from 'react'
import { Switches } from '../../app/retry/switches.tsx'
import { AlertIcon } from '../../design/icons.tsx'
import { count, counted } from '../../words/count.ts'
import type { Overview } from './use-overview.ts'

/** What needs a person first: what holds retries back by somebody's will, and agents that are not there. */
export function Attention(props: { data: Overview; project: string | undefined; onDone: () => void }) {
  const { data, project, onDone } = props
  const notes = agentNotes(data)
  return (
    <>
      <Switches queue={data} project={project} onDone={onDone} />
      {notes.length > 0 && (
        <ul className="switches" aria-label="Needs attention">
          {notes.map(({ key, words }) => (
            <li key={key} className="switch">
              <AlertIcon className="tone-held" />
              <span>{words}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const NAMED_MAX = 3

function agentNotes({ resourceGroups, states }: Overview): { key: string; words: ReactNode }[] {
  const agents = resourceGroups.flatMap(({ agents: { edges } }) => edges.map(({ node }) => node))
  const running = states.counts.find(({ state }) => state === 'LIVE')?.count ?? 0
  const waits = running > 0 ? ` ${counted(running, 'chain')} cannot go on.` : ''
  if (!agents.some(({ status }) => status === 'ALIVE' || status === 'SUSPECT')) {
    return [{ key: 'none', words: `No agent takes work: nothing new is started.${waits}` }]
  }
  return (['LOST', 'SUSPECT'] as const).flatMap((status) => {
    const those = agents.filter((agent) => agent.status === status)
    if (those.length === 0) return []
    const names = those.slice(0, NAMED_MAX).map(({ name }) => name)
    const more = those.length > NAMED_MAX ? ` and ${count(those.length - NAMED_MAX)} more` : ''
    const what = status === 'LOST' ? 'lost: what ran there is retried elsewhere' : 'silent, and given no new work'
    const are = those.length === 1 ? 'agent is' : 'agents are'
    return [{ key: status, words: `${count(those.length)} ${are} ${what}: ${names.join(', ')}${more}.` }]
  })
}
