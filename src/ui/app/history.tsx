import { useEffect, useState } from 'react'
import { type Client, useClient } from 'urql'
import type { Moments } from '../words/time.ts'
import { UiHistoryOfDocument, type UiHistoryPageFragment } from './app.generated.ts'
import { useMoments } from './moments.tsx'
import { ProblemPanel } from './page.tsx'
import '../design/detail.css'
import '../design/table.css'

type Entry = UiHistoryPageFragment['edges'][number]['node']

/** The newest entries come last, so all pages are read, up to this many. */
const PAGES_MAX = 20

/** The history of an agent or a deployment, the newest entry first. Read again when its `state` changes. */
export function HistoryCard({ id, state }: { id: string; state: string }) {
  const client = useClient()
  const moments = useMoments()
  const [entries, setEntries] = useState<readonly Entry[]>()
  const [error, setError] = useState<Error>()
  const [round, setRound] = useState(0)
  useEffect(() => {
    let left = false
    readAll(client, id).then(
      (all) => {
        if (left) return
        setError(undefined)
        setEntries(all)
      },
      (refused: unknown) => left || setError(refused as Error),
    )
    return () => {
      left = true
    }
  }, [client, id, state, round])
  return (
    <section className="card flush" aria-label="What became of it">
      <h2>What became of it</h2>
      {error && !entries ? (
        <ProblemPanel error={error} onAgain={() => setRound((last) => last + 1)} />
      ) : (
        entries &&
        (entries.length === 0 ? (
          <p className="card-none">Nothing yet.</p>
        ) : (
          <HistoryTable label="History" entries={entries} moments={moments} hasDays />
        ))
      )}
    </section>
  )
}

async function readAll(client: Client, id: string): Promise<Entry[]> {
  const all: Entry[] = []
  let after: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const { edges, pageInfo } = await readPage(client, id, after)
    all.push(...edges.map(({ node }) => node))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  return all.toReversed()
}

async function readPage(client: Client, id: string, after: string | null): Promise<UiHistoryPageFragment> {
  const { data, error } = await client
    .query(UiHistoryOfDocument, { id, after }, { requestPolicy: 'network-only' })
    .toPromise()
  const node = data?.node
  if (node?.__typename === 'Agent' || node?.__typename === 'Deployment') return node.schedulingHistory
  throw error ?? new Error('The server sent no answer')
}

interface ShownEntry {
  handler: string
  fromStatus: string | null
  toStatus: string | null
  result: string
  message: string | null
  attempts: number
  firstAt: string
  lastAt: string
}

/** The scheduler's decisions; consecutive equal ones share a row. */
export function HistoryTable(props: {
  label: string
  entries: readonly ShownEntry[]
  moments: Moments
  hasDays?: boolean
}) {
  const { label, entries, moments, hasDays = false } = props
  const written = (at: number) => (hasDays ? `${moments.day(at)}, ${moments.clock(at)}` : moments.clock(at))
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it
    <div className="record-scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="record-table">
        <thead>
          <tr>
            <th scope="col" className="nowrap">
              at ({moments.zone(Date.parse(entries[0]!.firstAt))})
            </th>
            <th scope="col">what</th>
            <th scope="col">status</th>
            <th scope="col">result</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.firstAt} ${entry.handler} ${entry.toStatus} ${entry.message}`}>
              <td className="nowrap" title={moments.absolute(Date.parse(entry.lastAt))}>
                {written(Date.parse(entry.firstAt))}
              </td>
              <td>
                {entry.handler.toLowerCase().replaceAll('_', '-')}
                {entry.attempts > 1 && <span className="soft"> × {entry.attempts}</span>}
              </td>
              <td className="nowrap soft">{statusWords(entry)}</td>
              <td className="words">
                {entry.result.toLowerCase().replaceAll('_', ' ')}
                {entry.message && <span className="soft">: {entry.message}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** `ALIVE`, `ALIVE › LOST` */
function statusWords({ fromStatus, toStatus }: ShownEntry): string | null {
  if (toStatus === null || fromStatus === null || fromStatus === toStatus) return toStatus ?? fromStatus
  return `${fromStatus} › ${toStatus}`
}
