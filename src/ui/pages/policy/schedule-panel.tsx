import { useEffect, useEffectEvent, useState } from 'react'
import { type Client, useClient } from 'urql'
import type { AirflowSettingsInput } from '../../../client/schema-types.generated.ts'
import { Button } from '../../design/controls.tsx'
import { policyAsCommand, policyAsInput, policyAsJson, readDraft } from '../../policy/policy-draft.ts'
import { Backtest } from '../../policy/backtest.tsx'
import type { Draft } from '../../policy/policy-fields.ts'
import { FRESH, type Planned, readPreview, refusedAt } from '../../policy/read-preview.ts'
import { ScheduleDrawing, ScheduleFigures, type Series, startsOf } from '../../policy/schedule.tsx'
import { counted } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { AIRFLOW_FIELDS } from './policy-search.ts'
import { TrialPanel } from './trial-panel.tsx'
import { UiAirflowPreviewDocument, type UiAirflowPreviewQuery } from './policy.generated.ts'

interface Props {
  preview: Preview
  /** A text that was typed since then is wrong. */
  isStale: boolean
  /** Whose defaults hold, and whose sessions it is tried on; undefined for all. */
  project: string | undefined
  /** Under "From Airflow": continue with the policy. */
  onTake: () => void
}

export function SchedulePanel({ preview, isStale, project, onTake }: Props) {
  const { schedule, airflow, verdict } = preview
  const series: Series[] = [{ name: 'Reprise', className: 'ours', planned: schedule }]
  if (airflow !== null) series.push({ name: 'Airflow', className: 'theirs', planned: airflow.airflowDelays })
  const isEmpty = series.every(({ planned }) => planned.length === 0)
  return (
    <section className="policy-result" aria-label="Schedule" data-stale={isStale || undefined}>
      <ScheduleFigures schedule={schedule} isStale={isStale} />
      {verdict !== null && (
        <p className="policy-verdict">
          <strong>{verdict.eligible ? 'Retried' : 'Not retried'}</strong>: {verdict.explanation}
        </p>
      )}
      {!isEmpty && (
        <>
          <ScheduleDrawing schedule={schedule} series={series} />
          <ScheduleTable schedule={schedule} theirs={airflow?.airflowDelays ?? null} />
        </>
      )}
      {airflow !== null && <Comparison airflow={airflow} />}
      {isEmpty && Object.keys(preview.draft).length === 0 ? (
        <p className="policy-hint">Type how many retries there are, or start from an example.</p>
      ) : (
        <>
          <Copies preview={preview} isStale={isStale} onTake={onTake} />
          <TrialPanel policy={preview.policy} project={project} />
          <Backtest
            policy={preview.policy}
            airflow={preview.settings}
            filter={project === undefined ? null : { project }}
          />
        </>
      )}
    </section>
  )
}

function ScheduleTable({ schedule, theirs }: { schedule: readonly Planned[]; theirs: readonly Planned[] | null }) {
  const starts = startsOf(schedule)
  const rows = Array.from({ length: Math.max(schedule.length, theirs?.length ?? 0) }, (_, index) => index)
  return (
    <table className="policy-table">
      <thead>
        <tr>
          <th scope="col">Retry</th>
          <th scope="col">Delay</th>
          <th scope="col">Starts after</th>
          {theirs !== null && <th scope="col">Airflow</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((index) => (
          <tr key={index}>
            <th scope="row">{index + 1}</th>
            <td>{rangeOf(schedule[index]?.earliestSeconds, schedule[index]?.latestSeconds)}</td>
            <td>{rangeOf(starts[index + 1]?.earliest, starts[index + 1]?.latest)}</td>
            {theirs !== null && <td>{rangeOf(theirs[index]?.earliestSeconds, theirs[index]?.latestSeconds)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function rangeOf(earliest: number | undefined, latest: number | undefined): string {
  if (earliest === undefined || latest === undefined) return '–'
  const [from, to] = [duration(earliest), duration(latest)]
  return from === to ? from : `${from} – ${to}`
}

function Comparison({ airflow }: { airflow: NonNullable<Preview['airflow']> }) {
  const { alike, differs } = airflow.explanation
  return (
    <div className="policy-compare">
      {[
        { title: 'As in Airflow', lines: alike, mark: '=' },
        { title: 'Different', lines: differs, mark: '≠' },
      ]
        .filter(({ lines }) => lines.length > 0)
        .map(({ title, lines, mark }) => (
          <div key={title}>
            <h2>{title}</h2>
            <ul>
              {lines.map((line) => (
                <li key={line}>
                  <span aria-hidden="true">{mark}</span>
                  {line}
                </li>
              ))}
            </ul>
          </div>
        ))}
    </div>
  )
}

function Copies({ preview, isStale, onTake }: Omit<Props, 'project'>) {
  const { policy, draft, airflow } = preview
  const [copied, setCopied] = useState<{ text: string } | null>(null)
  const fields = Object.keys(policy).length
  const command = airflow === null ? policyAsCommand(draft, policy) : policyAsInput(policy)
  const copy = (text: string) => void navigator.clipboard.writeText(text).then(() => setCopied({ text }))
  return (
    <div className="policy-copies">
      <div className="policy-part">
        <h2>To use it</h2>
        <span className="policy-aside">{fields === 0 ? 'all of it is the default' : counted(fields, 'field')}</span>
      </div>
      <pre>{command}</pre>
      <div className="policy-buttons">
        <Button disabled={isStale} onClick={() => copy(command)}>
          Copy as a command
        </Button>
        <Button disabled={isStale} onClick={() => copy(policyAsJson(policy))}>
          Copy as JSON
        </Button>
        {airflow !== null && (
          <Button disabled={isStale} onClick={onTake}>
            Edit as a policy
          </Button>
        )}
        <span role="status" className="policy-aside">
          {copied !== null && (copied.text === command || copied.text === policyAsJson(policy)) ? 'Copied' : ''}
        </span>
      </div>
    </div>
  )
}

/** The server's preview of the typed policy. */
export interface Preview {
  /** The API's input. */
  policy: object
  draft: Draft
  verdict: { eligible: boolean; explanation: string } | null
  schedule: readonly Planned[]
  airflow: UiAirflowPreviewQuery['airflowPolicyPreview'] | null
  /** The settings of an Airflow operator in the API's form; null if a policy was typed. */
  settings: AirflowSettingsInput | null
}

interface Answer {
  /** The last preview; it stays while a typed text is wrong. */
  preview: Preview | null
  /** The server's faults, by field. */
  faults: Readonly<Record<string, string>>
  /** The error that belongs to no field. */
  error: unknown
}

/** Previews the draft each time it changes. An unchanged `draft` must stay the same object. */
export function usePreview(
  draft: Draft,
  isAirflow: boolean,
  project: string | undefined,
): Answer & { again: () => void } {
  const client = useClient()
  const [answer, setAnswer] = useState<Answer>({ preview: null, faults: {}, error: null })
  const [turn, setTurn] = useState(0)

  const read = async (): Promise<Partial<Answer>> => {
    if (isAirflow) return readAirflow(client, draft)
    const found = await readPreview(client, draft, project)
    if ('faults' in found) return found
    const { schedule, ...verdict } = found.preview
    return { preview: { policy: found.policy, draft, verdict, schedule, airflow: null, settings: null } }
  }

  const start = useEffectEvent(async (isLeft: () => boolean) => {
    const found = await read()
    if (!isLeft()) setAnswer((last) => ({ preview: last.preview, faults: {}, error: null, ...found }))
  })
  useEffect(() => {
    let left = false
    void start(() => left)
    return () => {
      left = true
    }
  }, [draft, isAirflow, project, turn])
  return { ...answer, again: () => setTurn(turn + 1) }
}

async function readAirflow(client: Client, draft: Draft): Promise<Partial<Answer>> {
  const { input, faults } = readDraft(draft, AIRFLOW_FIELDS)
  if (Object.keys(faults).length > 0) return { faults }
  const settings = input as AirflowSettingsInput
  const { data, error } = await client.query(UiAirflowPreviewDocument, { settings }, FRESH).toPromise()
  if (!data) return refusedAt(error!, AIRFLOW_FIELDS)
  const { policy, schedule } = data.airflowPolicyPreview
  const airflow = data.airflowPolicyPreview
  return { preview: { policy: policyOf(policy), draft, verdict: null, schedule, airflow, settings } }
}

/** The fields of the policy that Airflow's settings determine. */
function policyOf({ sources, ...policy }: UiAirflowPreviewQuery['airflowPolicyPreview']['policy']): object {
  const given: ReadonlySet<string> = new Set(
    sources.filter(({ source }) => source === 'SESSION').map(({ field }) => field),
  )
  return Object.fromEntries(Object.entries(policy).filter(([field]) => given.has(field)))
}
