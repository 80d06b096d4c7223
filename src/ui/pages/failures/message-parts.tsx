import { Ago } from '../../app/moments.tsx'
import { count, counted } from '../../words/numbers.ts'
import type { UiFailureFiguresFragment, UiFailureGroupQuery, UiFailureMarkFragment } from './messages.generated.ts'
import './messages.css'

/** A group as its page shows it. */
export type FailureGroup = NonNullable<UiFailureGroupQuery['failureGroup']>

type Marked = UiFailureMarkFragment

/** What people know about a group, in one word. An open group may be new, or have come back after it was resolved. */
export function stateWord({ state, stateAt, regressedAt, isNew }: Marked): string {
  if (state !== 'OPEN') return state.toLowerCase()
  // A person may have opened it after that.
  if (regressedAt !== null && (stateAt === null || Date.parse(regressedAt) >= Date.parse(stateAt))) return 'regressed'
  return isNew ? 'new' : 'open'
}

export function StateMark({ group }: { group: Marked }) {
  const word = stateWord(group)
  return (
    <span className="message-mark" data-mark={word}>
      {word}
    </span>
  )
}

type Placed = Pick<UiFailureFiguresFragment, 'attempts' | 'agents' | 'images'>

/**
 * The agent and the image of all attempts of a group: `only on node-7`. Nothing where the other groups of the list were
 * there, too, as then it says nothing about this one.
 */
export function confinedTo(group: Placed, others: readonly Placed[]): string[] {
  const only = (kind: 'agents' | 'images'): string | undefined => {
    const [place] = group[kind]
    if (place === undefined || group.attempts < 2 || place.attempts < group.attempts || group[kind].length > 1)
      return undefined
    const isElsewhere = others.some((other) =>
      other[kind].length === 0 ? kind === 'images' : other[kind].some(({ name }) => name !== place.name),
    )
    return isElsewhere ? place.name : undefined
  }
  const [agent, image] = [only('agents'), only('images')]
  return [...(agent === undefined ? [] : [`only on ${agent}`]), ...(image === undefined ? [] : [`only image ${image}`])]
}

const STEP = 3
const HEIGHT = 20

interface SparklineProps {
  /** Numbers of attempts, oldest first. */
  parts: readonly number[]
  /** Its name for screen readers; without one it is decoration. */
  label?: string
}

/** Numbers of attempts over a span of time as bars. */
export function Sparkline({ parts, label }: SparklineProps) {
  const most = Math.max(...parts, 0)
  const named =
    label === undefined
      ? { 'aria-hidden': true as const }
      : {
          role: 'img',
          'aria-label': `${label}: at most ${counted(most, 'attempt')} in a ${count(parts.length)}th of it`,
        }
  const width = parts.length * STEP - 1
  const bars = parts.map((part, at) => {
    const high = part === 0 ? 0 : Math.max(2, (part / most) * (HEIGHT - 1))
    return high === 0 ? '' : `M${at * STEP} ${HEIGHT - 1}v${-high}h2v${high}z`
  })
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" {...named}>
      <path className="sparkline-base" d={`M0 ${HEIGHT - 1}h${width}v1h${-width}z`} />
      <path d={bars.join('')} />
    </svg>
  )
}

type Said = Pick<FailureGroup, 'lines' | 'masked' | 'rule' | 'maskVersion' | 'maskChanges'>

/** The lines by which it is recognised, beside what is compared of them. */
export function Lines({ group: { lines, masked, rule, maskVersion, maskChanges } }: { group: Said }) {
  return (
    <section className="card" aria-label="What its failures say">
      <h2>What its failures say</h2>
      {lines.length === 0 ? (
        <p className="card-none">Nothing that was found in a log. They are recognised by their cause and exit code.</p>
      ) : (
        <div className="failure-lines">
          <LinesOf title="As the first one wrote it" lines={lines} />
          <LinesOf title={rule === null ? 'What is compared' : 'Without what differs'} lines={masked} />
        </div>
      )}
      {rule !== null && (
        <p className="card-none">
          They are one group by the project’s rule <code>{rule}</code>.
        </p>
      )}
      {maskChanges.map(({ version, since }) => (
        <p key={version} className="card-none">
          An upgrade changed the masks <Ago at={since} />: failures since then are recognised by version {version}, and
          the lines here are by version {maskVersion}.
        </p>
      ))}
    </section>
  )
}

const MASK = /(<[a-z]+>)/

function LinesOf({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <ol>
        {lines.map((line, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- they stay in their order
          <li key={at}>
            <code>
              {line.split(MASK).map((part, nth) =>
                nth % 2 === 1 ? (
                  // oxlint-disable-next-line react/no-array-index-key -- they stay in their order
                  <span key={nth} className="failure-mask">
                    {part}
                  </span>
                ) : (
                  part
                ),
              )}
            </code>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** The agents and images of a group, each with its attempts. */
export function Places({ group: { agents, images, attempts } }: { group: Placed }) {
  return (
    <section className="card" aria-label="Where they ran">
      <h2>Where they ran</h2>
      {agents.length + images.length === 0 && <p className="card-none">On no agent, in this time.</p>}
      <PlacesOf title="Agents" places={agents} attempts={attempts} />
      <PlacesOf title="Images" places={images} attempts={attempts} />
    </section>
  )
}

function PlacesOf(props: { title: string; places: Placed['agents']; attempts: number }) {
  const { title, places, attempts } = props
  if (places.length === 0) return null
  return (
    <div className="failure-places">
      <h3>{title}</h3>
      <ul>
        {places.map(({ name, attempts: many }) => (
          <li key={name}>
            <span className="cut" title={name}>
              {name}
            </span>
            <span className="failure-bar" aria-hidden="true">
              <span style={{ width: `${Math.min(100, (many / attempts) * 100)}%` }} />
            </span>
            <b title={counted(many, 'attempt')}>{count(many)}</b>
          </li>
        ))}
      </ul>
    </div>
  )
}
