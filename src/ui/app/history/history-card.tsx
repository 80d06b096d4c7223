import { useEffect, useState } from 'react'
import { useClient, type Client } from 'urql'
import { HistoryTable } from './history-table.tsx'
import { UiHistoryOfDocument, type UiHistoryPageFragment } from './history.generated.ts'
import { useMoments } from '../moments.ts'
import { ProblemPanel } from '../problem-panel.tsx'
import '../../design/detail.css'

type Entry = UiHistoryPageFragment['edges'][number]['node']

/** Pages are read until there are no more, as the newest come last. */
const PAGES_MAX = 20

/** What became of an agent or a deployment, the newest first. Read again when its `state` is another one. */
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
