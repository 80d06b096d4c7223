import { Link } from '@tanstack/react-router'
import { useMoments } from '../../app/moments.ts'
import { Meter } from '../../charts/meter.tsx'
import { HeldIcon } from '../../design/icons.tsx'
import { roughAmount } from '../../words/amount.ts'
import { count, counted } from '../../words/count.ts'
import type { UiAgentsQuery } from './agents.generated.ts'
import type { AgentsSearch } from './agents-search.ts'

type Group = UiAgentsQuery['resourceGroups'][number]

/** The resource groups with what is used of them. One that is chosen narrows the list of agents, and back. */
export function GroupCards({ groups, search }: { groups: readonly Group[]; search: AgentsSearch }) {
  return (
    <ul className="group-cards" aria-label="Resource groups">
      {groups.map((group) => (
        <GroupCard key={group.id} group={group} search={search} />
      ))}
    </ul>
  )
}

function GroupCard({ group, search }: { group: Group; search: AgentsSearch }) {
  const { name, slots, agents, pendingSessions: pending } = group
  const isChosen = search.group === name
  return (
    <li className="group-card" data-chosen={isChosen || undefined}>
      <div className="group-head">
        <h2>
          <Link
            to="/agents"
            search={{ ...search, dropped: undefined, group: isChosen ? undefined : name }}
            replace
            className="group-link"
            aria-current={isChosen ? 'true' : undefined}
            title={isChosen ? 'Show the agents of all groups' : `Show the agents of ${name} only`}
          >
            {name}
          </Link>
        </h2>
        <span className="group-counts">
          {counted(agents.totalCount, 'agent')}
          {pending.totalCount > 0 && (
            <Link to="/sessions" search={{ status: 'waiting', group: name }} className="group-waiting">
              {count(pending.totalCount)}
              {pending.totalCountIsExact ? '' : '+'} waiting
            </Link>
          )}
        </span>
      </div>
      {group.draining && <Draining group={group} />}
      {slots.length === 0 ? (
        <p className="group-none">Nothing runs here: none of its agents is there.</p>
      ) : (
        slots.map(({ slot, used, capacity, utilisation }) => (
          <Meter
            key={slot}
            name={slot}
            share={utilisation}
            words={`${roughAmount(slot, used)} of ${roughAmount(slot, capacity)}`}
          />
        ))
      )}
    </li>
  )
}

function Draining({ group: { drainedAt, drainReason } }: { group: Group }) {
  const { minute, absolute } = useMoments()
  const at = drainedAt === null ? null : Date.parse(drainedAt)
  return (
    <p className="group-draining">
      <HeldIcon className="tone-held" />
      <span>
        drained
        {at !== null && (
          <>
            {' since '}
            <time dateTime={drainedAt!} title={absolute(at)}>
              {minute(at)}
            </time>
          </>
        )}
        {drainReason !== null && `: ${drainReason}`}
      </span>
    </p>
  )
}
