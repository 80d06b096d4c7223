import { useCallback, useEffect, useEffectEvent, useState } from 'react'
import { useClient } from 'urql'
import { connection } from '../api/connection.ts'
import { isUnauthenticated } from '../api/problem.ts'
import { session } from '../api/session.ts'
import {
  UiBulkOutcomeDocument,
  UiBulkProgressDocument,
  type UiBulkProgressSubscription,
  type UiBulkProgressSubscriptionVariables,
  type UiOutcomeFragment,
} from './bulk.generated.ts'

const READS_APART_MS = 1_000

export interface Followed {
  outcome: UiOutcomeFragment
  /** Why it is not told of progress any more, though there may be some. */
  error: Error | null
  put: (outcome: UiOutcomeFragment) => void
}

/** An action on many sessions while it goes on. Numbers come by themselves; the reasons are read after them, at most once a second. */
export function useOutcome(first: UiOutcomeFragment, onProgress?: () => void): Followed {
  const client = useClient()
  const [outcome, setOutcome] = useState(first)
  const [error, setError] = useState<Error | null>(null)
  const { resubmissionId: id, state } = outcome
  const told = useEffectEvent(() => onProgress?.())

  useEffect(() => {
    if (state !== 'RUNNING') return undefined
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      timer = undefined
      const { data } = await client.query(UiBulkOutcomeDocument, { id }, { requestPolicy: 'network-only' }).toPromise()
      if (left.signal.aborted || !data?.resubmission) return
      setOutcome(data.resubmission)
      told()
    }
    const follow = async () => {
      const messages = connection.stream<UiBulkProgressSubscription, UiBulkProgressSubscriptionVariables>(
        UiBulkProgressDocument,
        { id },
        { signal: left.signal },
      )
      for await (const { resubmissionProgress } of messages) {
        // Its end is shown once its reasons are known, too.
        if (resubmissionProgress.state === 'RUNNING') setOutcome((last) => ({ ...last, ...resubmissionProgress }))
        timer ??= setTimeout(() => void read(), resubmissionProgress.state === 'RUNNING' ? READS_APART_MS : 0)
      }
      clearTimeout(timer)
      await read()
    }
    follow().catch((refused: unknown) => {
      if (left.signal.aborted) return
      if (isUnauthenticated(refused)) session.set('gone')
      setError(refused as Error)
    })
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [client, id, state])

  const put = useCallback((next: UiOutcomeFragment) => setOutcome(next), [])
  return { outcome, error, put }
}
