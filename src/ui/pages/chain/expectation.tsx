import { Link } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { useServerNow } from '../../api/clock.ts'
import { useMoments } from '../../app/moments.tsx'
import { count } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { UiExpectationDocument, type UiExpectationQuery } from './chain.generated.ts'

const EVERY_MS = 10_000

/** When a queued attempt is expected to start; how long a running one usually takes. */
export function Expectation({ sessionId }: { sessionId: string }) {
  const { data } = usePolled(UiExpectationDocument, { sessionId }, EVERY_MS)
  const session = data?.session
  if (session?.queuePlace) return <Start place={session.queuePlace} group={session.resourceGroup.name} />
  if (session?.status !== 'RUNNING' || session.startedAt === null) return null
  return <Usual startedAt={session.startedAt} usual={session.usualDuration} />
}

type Expected = NonNullable<UiExpectationQuery['session']>

function Start({ place, group }: { place: NonNullable<Expected['queuePlace']>; group: string }) {
  const { before, expectedStartAt, whyUnknown } = place
  const { minute, absolute } = useMoments()
  if (before === null) return null
  const at = expectedStartAt === null ? null : Date.parse(expectedStartAt)
  return (
    <li title={at === null ? (whyUnknown ?? undefined) : absolute(at)}>
      {at === null ? 'start not known' : <>starts about {minute(at)}</>}
      {', '}
      <Link to="/queue" search={group === 'default' ? {} : { group }}>
        {before === 0 ? 'next in line' : `behind ${count(before)}`}
      </Link>
    </li>
  )
}

function Usual({ startedAt, usual }: { startedAt: string; usual: Expected['usualDuration'] }) {
  const { medianSeconds, p95Seconds, successes } = usual
  const ran = (useServerNow(true) - Date.parse(startedAt)) / 1000
  if (medianSeconds === null || p95Seconds === null) return null
  return (
    <li
      className={ran > p95Seconds ? 'tone-held' : undefined}
      title={`the last ${count(successes)} successes of its name`}
    >
      usually {duration(medianSeconds)}, p95 {duration(p95Seconds)}, now {duration(Math.max(0, ran))}
    </li>
  )
}
