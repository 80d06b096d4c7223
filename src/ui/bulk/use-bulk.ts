import { useCallback, useEffect, useEffectEvent, useState } from 'react'
import { useClient } from 'urql'
import type {
  ChainFilter,
  ResubmissionOverrides,
  SessionAction,
  SessionFilter,
  SessionSelection,
} from '../../client/schema-types.generated.ts'
import { connection } from '../api/connection.ts'
import { session } from '../api/login.ts'
import { isUnauthenticated, type Problem } from '../api/problem.ts'
import { type Sent, useSend } from '../app/act.ts'
import {
  UiBulkOutcomeDocument,
  UiBulkProgressDocument,
  type UiBulkProgressSubscription,
  type UiBulkProgressSubscriptionVariables,
  UiCancelRetriesDocument,
  type UiDryRunFragment,
  type UiOutcomeFragment,
  UiResubmitManyDocument,
  UiRetryNowManyDocument,
  UiTerminateManyDocument,
} from './bulk.generated.ts'

/** The target: these sessions, those that match, or the newest attempts of all chains that match. */
export type Selection = { sessionIds: readonly string[] } | { filter: SessionFilter } | { chainFilter: ChainFilter }

type Answer = ({ __typename: 'DryRun' } & UiDryRunFragment) | { bulkAction: UiOutcomeFragment }

export type Stage =
  | { kind: 'trying' }
  /**
   * `problem`: the fault of the typed changes, because of which there was no dry run. `refused`: why the action itself
   * was refused.
   */
  | { kind: 'asking'; tried: UiDryRunFragment; isBusy: boolean; problem: Problem | null; refused: Problem | null }
  | { kind: 'begun'; first: UiOutcomeFragment }
  | { kind: 'refused'; problem: Problem }

/** Further input of the action. */
interface More {
  reason?: string
  overrides?: ResubmissionOverrides
}

/** An action on many sessions, first as a dry run. `selection` must stay the same object. */
export function useBulk(action: SessionAction, selection: Selection) {
  const send = useSend()
  const [stage, setStage] = useState<Stage>({ kind: 'trying' })

  const request = useCallback(
    async (more: More & { dryRun?: true }): Promise<Sent<{ answer: Answer }>> => {
      const input = { select: selection as SessionSelection, ...more }
      switch (action) {
        case 'RESUBMIT':
          return send(UiResubmitManyDocument, { input })
        case 'TERMINATE':
          return send(UiTerminateManyDocument, { input })
        case 'CANCEL_RETRY':
          return send(UiCancelRetriesDocument, { input })
        case 'RETRY_NOW':
          return send(UiRetryNowManyDocument, { input })
      }
    },
    [send, action, selection],
  )

  const tryOut = useCallback(async () => {
    setStage({ kind: 'trying' })
    const { done, problem } = await request({ dryRun: true })
    if (problem) setStage({ kind: 'refused', problem })
    else if (!('bulkAction' in done)) setStage(askingAbout(done))
  }, [request])
  useEffect(() => void tryOut(), [tryOut])

  /** Repeats the dry run with other changes. The previous result stays until the answer comes. */
  const tryWith = useCallback(
    async (overrides: ResubmissionOverrides) => {
      setStage((last) => (last.kind === 'asking' ? { ...last, isBusy: true } : last))
      const { done, problem } = await request({ dryRun: true, overrides })
      setStage((last) => {
        if (last.kind !== 'asking') return last
        if (problem) return { ...last, isBusy: false, problem }
        return 'bulkAction' in done ? last : askingAbout(done)
      })
    },
    [request],
  )

  const begin = async (more: More) => {
    setStage((last) => (last.kind === 'asking' ? { ...last, isBusy: true } : last))
    const { done, problem } = await request(more)
    if (problem) setStage((last) => (last.kind === 'asking' ? { ...last, isBusy: false, refused: problem } : last))
    else if ('bulkAction' in done) setStage({ kind: 'begun', first: done.bulkAction })
  }
  return { stage, begin, tryWith, again: () => void tryOut() }
}

function askingAbout(tried: UiDryRunFragment): Stage {
  return { kind: 'asking', tried, isBusy: false, problem: null, refused: null }
}

const READS_APART_MS = 1_000

interface Followed {
  outcome: UiOutcomeFragment
  /** The reason why progress is no longer received. */
  error: Error | null
  put: (outcome: UiOutcomeFragment) => void
}

/**
 * The progress of an action on many sessions. The server pushes the numbers; the reasons are read after them, at most
 * once a second.
 */
export function useOutcome(first: UiOutcomeFragment, onProgress?: () => void): Followed {
  const client = useClient()
  const [outcome, setOutcome] = useState(first)
  const [error, setError] = useState<Error | null>(null)
  const { bulkActionId: id, state } = outcome
  const told = useEffectEvent(() => onProgress?.())

  useEffect(() => {
    if (state !== 'RUNNING') return undefined
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      timer = undefined
      const { data } = await client.query(UiBulkOutcomeDocument, { id }, { requestPolicy: 'network-only' }).toPromise()
      if (left.signal.aborted || !data?.bulkAction) return
      setOutcome(data.bulkAction)
      told()
    }
    const follow = async () => {
      const messages = connection.stream<UiBulkProgressSubscription, UiBulkProgressSubscriptionVariables>(
        UiBulkProgressDocument,
        { id },
        { signal: left.signal },
      )
      for await (const { bulkActionProgress } of messages) {
        // The end is shown when the reasons are known too.
        if (bulkActionProgress.state === 'RUNNING') setOutcome((last) => ({ ...last, ...bulkActionProgress }))
        timer ??= setTimeout(() => void read(), bulkActionProgress.state === 'RUNNING' ? READS_APART_MS : 0)
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
