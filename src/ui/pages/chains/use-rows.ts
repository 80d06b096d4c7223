import { useNavigate } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { UiRetryNowDocument } from '../../api/act.generated.ts'
import { useAct } from '../../app/act/act.ts'
import { useKeys } from '../../app/keys.ts'
import type { ChainList } from './chain-list.ts'
import type { ChainRow } from './read-chains.ts'

export interface Rows {
  /** By chain, the newest attempt that was seen when it was chosen. */
  chosen: ReadonlyMap<string, string>
  /** Of the row that the keys are about. */
  current: string | undefined
  choose: (chain: ChainRow) => void
  setCurrent: (chainId: string) => void
  /** All that are loaded, but for this one. */
  chooseAll: (but?: ChainRow) => void
  clear: () => void
}

/** Which rows are chosen, and which one the keys are about. */
export function useRows({ rows, reload }: ChainList, show: (index: number) => void): Rows {
  const navigate = useNavigate()
  const act = useAct()
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map())
  const [currentId, setCurrent] = useState<string>()
  const choose = useCallback(({ chainId, newestAttempt }: ChainRow) => {
    setChosen((before) => {
      const after = new Map(before)
      if (!after.delete(chainId)) after.set(chainId, newestAttempt.sessionId)
      return after
    })
  }, [])
  const clear = () => setChosen(new Map())
  const at = Math.max(
    0,
    rows.findIndex(({ chainId }) => chainId === currentId),
  )
  const row = rows[at]
  const move = (by: number) => {
    const to = currentId === undefined ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))
    const next = rows[to]
    if (!next) return
    show(to)
    setCurrent(next.chainId)
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-chain="${next.chainId}"]`)?.focus())
  }
  const retry = ({ name, newestAttempt: { sessionId } }: ChainRow) =>
    act(UiRetryNowDocument, { sessionId }, { about: name, done: `${name} is retried now.` })
  useKeys([
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'row before', run: () => move(-1) },
    { keys: 'x', does: 'select the row', run: () => row && choose(row) },
    {
      keys: 'o',
      does: 'open the row, as enter does',
      run: () => row && void navigate({ to: '/chains/$chainId', params: { chainId: row.chainId } }),
    },
    { keys: 'r', does: 'retry the row now', run: () => row && void retry(row) },
    { keys: 'n', does: 'show what is new', run: reload },
    { keys: 'Escape', does: 'clear the selection', run: clear },
  ])
  return {
    chosen,
    current: currentId,
    choose,
    setCurrent,
    chooseAll: (but) =>
      setChosen(
        new Map(rows.filter((each) => each !== but).map((each) => [each.chainId, each.newestAttempt.sessionId])),
      ),
    clear,
  }
}
