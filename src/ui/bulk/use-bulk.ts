import { useCallback, useEffect, useState } from 'react'
import type { ChainFilter, ResubmissionOverrides, SessionAction } from '../../client/schema-types.generated.ts'
import type { Problem } from '../api/problem.ts'
import { useSend, type Sent } from '../app/act/act.ts'
import {
  UiCancelRetriesDocument,
  UiResubmitManyDocument,
  UiRetryNowManyDocument,
  UiTerminateManyDocument,
  type UiDryRunFragment,
  type UiOutcomeFragment,
} from './bulk.generated.ts'

/** What is acted on: these, or the newest attempts of what matches. */
export type Selection = { sessionIds: readonly string[] } | { chainFilter: ChainFilter }

type Answer = ({ __typename: 'DryRun' } & UiDryRunFragment) | { resubmission: UiOutcomeFragment }

export type Stage =
  | { kind: 'trying' }
  /** `problem`: what is wrong with what is to be changed, so that it was not tried. */
  | { kind: 'asking'; tried: UiDryRunFragment; isBusy: boolean; problem: Problem | null }
  | { kind: 'begun'; first: UiOutcomeFragment }
  | { kind: 'refused'; problem: Problem }

/** What is said beside what it is done to. */
interface More {
  reason?: string
  overrides?: ResubmissionOverrides
}

/** An action on many, first on trial. `selection` is to be the same object all the time. */
export function useBulk(action: SessionAction, selection: Selection) {
  const send = useSend()
  const [stage, setStage] = useState<Stage>({ kind: 'trying' })

  const request = useCallback(
    async (more: More & { dryRun?: true }): Promise<Sent<{ answer: Answer }>> => {
      const input = { ...selection, ...more } as { sessionIds: string[] }
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
    else if (!('resubmission' in done)) setStage({ kind: 'asking', tried: done, isBusy: false, problem: null })
  }, [request])
  useEffect(() => void tryOut(), [tryOut])

  /** The same with other changes: what was asked stays until the answer is there. */
  const tryWith = useCallback(
    async (overrides: ResubmissionOverrides) => {
      setStage((last) => (last.kind === 'asking' ? { ...last, isBusy: true } : last))
      const { done, problem } = await request({ dryRun: true, overrides })
      setStage((last) => {
        if (last.kind !== 'asking') return last
        if (problem) return { ...last, isBusy: false, problem }
        return 'resubmission' in done ? last : { kind: 'asking', tried: done, isBusy: false, problem: null }
      })
    },
    [request],
  )

  const begin = async (more: More) => {
    setStage((last) => (last.kind === 'asking' ? { ...last, isBusy: true } : last))
    const { done, problem } = await request(more)
    if (problem) setStage({ kind: 'refused', problem })
    else if ('resubmission' in done) setStage({ kind: 'begun', first: done.resubmission })
  }
  return { stage, begin, tryWith, again: () => void tryOut() }
}
