import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { counted } from '../../words/numbers.ts'
import { UiAttemptFailureDocument, type UiAttemptFailureQuery } from './chain.generated.ts'

/** The group of a failure is known shortly after its decision. */
const GROUPED_WITHIN_MS = 60_000
const GROUPED_EVERY_MS = 2_000

/** What the failure says, how many others say the same, and what it can be compared with. */
export function Says({ sessionId, endedForMs }: { sessionId: string; endedForMs: number | null }) {
  const isRecent = endedForMs !== null && endedForMs < GROUPED_WITHIN_MS
  const [isFound, setFound] = useState(false)
  const { data } = usePolled(
    UiAttemptFailureDocument,
    { sessionId },
    isRecent && !isFound ? GROUPED_EVERY_MS : undefined,
  )
  const group = data?.session?.failureGroup
  if (group && !isFound) setFound(true)
  const { lastSuccess = null, parentSession = null } = data?.session ?? {}
  return (
    <>
      {group && <Message group={group} />}
      <Comparisons
        sessionId={sessionId}
        others={[
          ['the last success', lastSuccess],
          ['the previous attempt', parentSession],
        ]}
      />
    </>
  )
}

type Failed = NonNullable<UiAttemptFailureQuery['session']>

function Message({ group: { failureGroupId, title, attempts } }: { group: NonNullable<Failed['failureGroup']> }) {
  return (
    <p className="attempt-says">
      says:{' '}
      <Link to="/failures/$failureGroupId" params={{ failureGroupId }} className="text-link">
        {title}
      </Link>
      {attempts > 1 && ` · ${counted(attempts - 1, 'other')} in 30 days ${attempts === 2 ? 'says' : 'say'} the same`}
    </p>
  )
}

interface ComparisonsProps {
  sessionId: string
  others: readonly (readonly [name: string, other: Failed['parentSession']])[]
}

function Comparisons({ sessionId, others }: ComparisonsProps) {
  const links = others.flatMap(([name, other]) => (other ? [{ name, rightId: other.sessionId }] : []))
  if (links.length === 0) return null
  return (
    <p className="attempt-compare">
      compare with
      {links.map(({ name, rightId }) => (
        <Link key={name} to="/compare/$leftId/$rightId" params={{ leftId: sessionId, rightId }} className="text-link">
          {name}
        </Link>
      ))}
    </p>
  )
}
