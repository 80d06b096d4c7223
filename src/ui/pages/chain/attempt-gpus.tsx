import { useEffect } from 'react'
import { useReread } from '../../api/poll.ts'
import { counted, roughAmount } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { UiAttemptDocument, type UiAttemptQuery } from './chain.generated.ts'

type UiAttempt = NonNullable<UiAttemptQuery['session']>

/** As often as agents report new figures. */
const LIVE_MS = 15_000

/** The GPUs of an attempt and what it has used of them, read again while it runs. */
export function AttemptGpus({ attempt, isLive }: { attempt: UiAttempt; isLive: boolean }) {
  const reread = useReread(UiAttemptDocument, { sessionId: attempt.sessionId })
  useEffect(() => {
    if (!isLive) return undefined
    const timer = setInterval(() => void reread(), LIVE_MS)
    return () => clearInterval(timer)
  }, [isLive, reread])
  return (
    <>
      <span title={attempt.gpus.map(({ index, uuid }) => `${index}: ${uuid}`).join('\n')}>
        {modelWords(attempt.gpus)}
      </span>
      {attempt.gpuUsage && <span className="checkpoint-made">{gpuUsageWords(attempt.gpuUsage)}</span>}
    </>
  )
}

/** `2 × NVIDIA A100-SXM4-40GB` */
export function modelWords(gpus: UiAttempt['gpus']): string {
  const models = Map.groupBy(gpus, ({ name }) => name)
  return [...models].map(([name, those]) => (those.length === 1 ? name : `${those.length} × ${name}`)).join(', ')
}

export function gpuUsageWords(used: NonNullable<UiAttempt['gpuUsage']>): string {
  const { peakMemoryBytes, meanUtilization, peakUtilization, energyJoules, gpuSeconds } = used
  const percent = (share: number) => `${Math.round(share * 100)}\u00A0%`
  const peak = peakUtilization === null ? '' : `, at most ${percent(peakUtilization)}`
  const words = [
    peakMemoryBytes === null ? null : `mem ${roughAmount('mem', String(peakMemoryBytes))}`,
    meanUtilization === null ? null : `busy ${percent(meanUtilization)}${peak}`,
    `${duration(gpuSeconds)} of GPU time`,
    energyJoules === null ? null : counted(Math.round(energyJoules / 1000), 'kJ', 'kJ'),
  ]
  return words.filter((each) => each !== null).join(', ')
}
