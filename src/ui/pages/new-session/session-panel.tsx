import { useEffect, useState } from 'react'
import { useClient } from 'urql'
import type { CreateSessionInput } from '../../../client/schema-types.generated.ts'
import { problemOf } from '../../api/problem.ts'
import { NextRuns } from '../../app/next-runs.tsx'
import { Button } from '../../design/controls.tsx'
import { type Draft, POLICY_FIELDS } from '../../policy/policy-fields.ts'
import { type Planned, readPreview } from '../../policy/read-preview.ts'
import { ScheduleDrawing, ScheduleFigures } from '../../policy/schedule.tsx'
import type { RetryDefaults } from './session-draft.ts'
import { sessionAsCommand, sessionAsGraphQL } from './session-text.ts'
import type { TimingGiven } from './timing.ts'

const SETTLED_MS = 250

interface Props {
  draft: Draft
  input: CreateSessionInput
  /** The times of a schedule; null for a single session. */
  timing: TimingGiven | null
  defaults: RetryDefaults
  /** All typed texts are valid. */
  isReady: boolean
  /** An existing thing is changed; there is no command for it. */
  isChange: boolean
  /** Called with the server's faults of the policy, by field. */
  onFaults: (faults: Readonly<Record<string, string>>) => void
}

/** The session's retries if it fails, and other ways to create the same session. */
export function SessionPanel({ draft, input, timing, defaults, isReady, isChange, onFaults }: Props) {
  const { schedule, error, isStale } = useSchedule(draft, draft['project'], defaults.draft, onFaults)
  return (
    <section className="new-session-panel" aria-label="Schedule">
      {timing && (
        <div className="new-session-runs">
          <h2>Next runs</h2>
          {timing.times.length > 0 ? (
            <NextRuns times={timing.times} />
          ) : (
            <p className="new-session-hint">Type when it runs to see the next runs.</p>
          )}
        </div>
      )}
      {schedule && <ScheduleFigures schedule={schedule} isStale={isStale} />}
      {error && <p role="alert">{problemOf(error).message}</p>}
      {defaults.from.length > 0 && (
        <p className="policy-aside">Empty fields are set by {defaults.from.join(' and ')}.</p>
      )}
      {schedule && schedule.length > 0 && (
        <ScheduleDrawing schedule={schedule} series={[{ name: 'Reprise', className: 'ours', planned: schedule }]} />
      )}
      {schedule?.length === 0 && (
        <p className="new-session-hint">It is not retried: type how many retries there are.</p>
      )}
      {!isChange && (
        <Copies
          command={sessionAsCommand(draft, input, timing?.input ?? null)}
          mutation={sessionAsGraphQL(input, timing?.input ?? null)}
          isReady={isReady}
        />
      )}
    </section>
  )
}

/** Previews the typed policy over the defaults when typing pauses. */
function useSchedule(draft: Draft, project: string | undefined, defaults: Draft, onFaults: Props['onFaults']) {
  const client = useClient()
  const [found, setFound] = useState<{ schedule: readonly Planned[] | null; error: Error | null; isStale: boolean }>({
    schedule: null,
    error: null,
    isStale: false,
  })
  const typed = POLICY_FIELDS.flatMap(({ name }) => (draft[name] === undefined ? [] : [[name, draft[name]]]))
  const key = JSON.stringify({ ...defaults, ...(Object.fromEntries(typed) as Draft) })
  useEffect(() => {
    let left = false
    const read = async () => {
      const answer = await readPreview(client, JSON.parse(key) as Draft, project)
      if (left) return
      if ('preview' in answer) {
        onFaults({})
        setFound({ schedule: answer.preview.schedule, error: null, isStale: false })
      } else {
        onFaults(answer.faults)
        setFound((last) => ({ ...last, error: answer.error ?? null, isStale: last.schedule !== null }))
      }
    }
    const timer = setTimeout(() => void read(), SETTLED_MS)
    return () => {
      left = true
      clearTimeout(timer)
    }
  }, [client, key, project, onFaults])
  return found
}

function Copies({ command, mutation, isReady }: { command: string; mutation: string; isReady: boolean }) {
  const [shown, setShown] = useState<'command' | 'mutation'>('command')
  const [copied, setCopied] = useState<string | null>(null)
  const text = shown === 'command' ? command : mutation
  return (
    <div className="new-session-copies">
      <div className="policy-part">
        <h2>The same as</h2>
        <span role="group" aria-label="Shown as" className="new-session-kinds">
          {(['command', 'mutation'] as const).map((each) => (
            <Button key={each} kind="quiet" aria-pressed={each === shown} onClick={() => setShown(each)}>
              {each === 'command' ? 'Command' : 'GraphQL'}
            </Button>
          ))}
        </span>
      </div>
      {isReady ? (
        <>
          <pre>{text}</pre>
          <div className="new-session-buttons">
            <Button onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(text))}>Copy</Button>
            <span role="status" className="policy-aside">
              {copied === text ? 'Copied' : ''}
            </span>
          </div>
        </>
      ) : (
        <p className="new-session-hint">It is shown here once there is a command and no fault.</p>
      )}
    </div>
  )
}
