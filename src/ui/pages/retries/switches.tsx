import { HeldIcon } from '../../design/icons.tsx'
import { momentsIn } from '../../words/moment.ts'
import type { Queue } from './use-retries.ts'

type Switch = Queue['retrySwitches'][number]
type Entries = NonNullable<Queue['auditLog']>['edges']

const moments = momentsIn(Intl.DateTimeFormat().resolvedOptions().timeZone)

/** What holds retries back by somebody's will, and whose, as far as the viewer may know. */
export function Switches({ queue, project }: { queue: Queue; project: string | undefined }) {
  const now = Date.parse(queue.now)
  const shown = queue.retrySwitches.filter(
    ({ disabled, rateLimit, scope, name }) =>
      (disabled || rateLimit !== null) && (project === undefined || scope !== 'PROJECT' || name === project),
  )
  if (shown.length === 0) return null
  return (
    <ul className="switches" aria-label="Switches in force">
      {shown.map((each) => {
        const last = lastChange(each, queue.auditLog?.edges ?? [])
        const until = each.disabled ? each.disabledUntil : each.rateLimitUntil
        return (
          <li key={each.id} className="switch">
            <HeldIcon className="tone-held" />
            <span>
              {whatWords(each)}
              {last !== null && (
                <>
                  {' since '}
                  <Moment at={Date.parse(last.at)} now={now} /> by <b>{last.actor}</b>
                </>
              )}
              {until !== null && (
                <>
                  {', until '}
                  <Moment at={Date.parse(until)} now={now} />
                </>
              )}
              .
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** `12:04`, with its day if that is not today. */
function Moment({ at, now }: { at: number; now: number }) {
  const day = moments.day(at)
  return (
    <time dateTime={new Date(at).toISOString()} title={moments.absolute(at)}>
      {day === moments.day(now) ? moments.minute(at) : `${day}, ${moments.minute(at)}`}
    </time>
  )
}

function whatWords({ scope, name, disabled, rateLimit }: Switch): string {
  const whose =
    scope === 'CLUSTER' ? 'All retries' : `Retries of ${scope === 'DOMAIN' ? 'domain' : 'project'} ${name ?? ''}`
  if (disabled) return `${whose} are switched off`
  return `${whose} are limited to ${rateLimit!.perSecond} a second, ${rateLimit!.burst} at once`
}

/** The newest change of a switch that made it what it is. Entries are newest first. */
function lastChange({ scope, name, disabled }: Switch, entries: Entries): { at: string; actor: string } | null {
  for (const { node } of entries) {
    const { before, after } = JSON.parse(node.details) as Record<'before' | 'after', Partial<Switch> | undefined>
    if (after?.scope !== scope || (after.name ?? null) !== name) continue
    const changed = disabled ? before?.disabled !== after.disabled : !same(before?.rateLimit, after.rateLimit)
    if (changed) return node
  }
  return null
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
