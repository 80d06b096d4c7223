import { expect, test } from 'vitest'
import { timelineOf } from '../../../../src/ui/timeline/bars.ts'
import { timelineText } from '../../../../src/ui/timeline/words.ts'
import { momentsIn } from '../../../../src/ui/words/time.ts'
import { segmentsOf } from './timelines.ts'

const moments = momentsIn('UTC')

test('a chain for a chat: its drawing, and a line for each attempt', () => {
  const { segments, end } = segmentsOf(
    [
      { queued: 1000, preparing: 500, running: 5000, cause: 'OOM_KILLED', backoff: 6000 },
      { running: 4000, cause: 'OOM_KILLED', resubmission: 3_600_000 },
      { running: 4000, backoff: 3000, held: 4000 },
      { running: 5000, backoff: 2000 },
    ],
    { open: true, due: 6000 },
  )
  expect(timelineText(timelineOf(segments, end), { name: 'reco-skim-17', now: end, moments })).toBe(
    `reco-skim-17 · 2026-11-23 12:04:05 UTC · waited 1 h
│▒████████········│██████⫽⫽⫽│██████····‖‖‖‖‖‖│███████···        ┆       
   1  queued 1 s, prepared 0.5 s, ran 5 s, out of memory, then backoff 6 s
   2  ran 4 s, out of memory, then until resubmitted 1 h
   3  ran 4 s, exit code 3, then backoff 3 s, then held 4 s
   4  ran 5 s, exit code 3, then backoff 2 s
   5  planned, in 0:06
`,
  )
})

test('the checkpoints that attempts found', () => {
  const none = { fromAttempt: null, bytes: null, note: null }
  const { segments, end } = segmentsOf([
    { running: 1000, backoff: 1000 },
    { running: 1000, backoff: 1000, checkpoint: { ...none, state: 'HERE', fromAttempt: 1 } },
    { running: 1000, backoff: 1000, checkpoint: { ...none, state: 'FETCHED', fromAttempt: 2 } },
    { running: 1000, backoff: 1000, checkpoint: { ...none, state: 'MISSING', fromAttempt: 3 } },
    { running: 1000, checkpoint: { ...none, state: 'HERE' } },
  ])
  const lines = timelineText(timelineOf(segments, end), { name: 'long', now: end, moments }).split('\n')
  expect(lines.slice(2, -1)).toEqual([
    '   1  ran 1 s, exit code 3, then backoff 1 s',
    '   2  ran 1 s, exit code 3, went on from attempt 1, then backoff 1 s',
    '   3  ran 1 s, exit code 3, went on from attempt 2, whose checkpoint was fetched, then backoff 1 s',
    '   4  ran 1 s, exit code 3, began without the checkpoint of attempt 3, then backoff 1 s',
    '   5  ran 1 s, exit code 3, went on from an earlier attempt',
  ])
})

test('a long chain shows its newest attempts', () => {
  const { segments, end } = segmentsOf(Array.from({ length: 30 }, () => ({ running: 1000, backoff: 1000 })))
  const lines = timelineText(timelineOf(segments, end), { name: 'long', now: end, moments }).split('\n')
  expect(lines[2]).toBe('10 earlier attempts are left out')
  expect(lines[3]).toMatch(/^ {2}11 {2}ran 1 s/)
  expect([...lines[1]!].length).toBe(72)
})
