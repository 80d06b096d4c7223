import { usePolled } from '../../api/poll.ts'
import { DueHistogram } from '../../charts/due-histogram.tsx'
import { UiOverviewDueDocument, type UiOverviewDueQueryVariables } from './overview.generated.ts'

/** One for each step of the hour. */
const STEPS = [
  'due0',
  'due1',
  'due2',
  'due3',
  'due4',
  'due5',
  'due6',
  'due7',
  'due8',
  'due9',
  'due10',
  'due11',
] as const satisfies (keyof UiOverviewDueQueryVariables)[]
const STEP_MINUTES = 60 / STEPS.length
const STEP_MS = STEP_MINUTES * 60_000
const EVERY_MS = 10_000

/** How many retries are due in each five minutes of the next hour. What is due already is among the first. */
export function DueSoon({ project }: { project: string | undefined }) {
  const of = { ...(project !== undefined && { project }), phase: ['SCHEDULED' as const] }
  const { data } = usePolled(
    UiOverviewDueDocument,
    (now) => {
      const at = (step: number) => new Date(now + step * STEP_MS).toISOString()
      const dueAt = (step: number) => ({ ...(step > 0 && { gte: at(step) }), lt: at(step + 1) })
      const filters = STEPS.map((name, step) => [name, { ...of, dueAt: dueAt(step) }] as const)
      return Object.fromEntries(filters) as UiOverviewDueQueryVariables
    },
    EVERY_MS,
  )
  return (
    <div className="due-soon">
      {data && <DueHistogram counts={STEPS.map((name) => data[name].totalCount)} stepMinutes={STEP_MINUTES} />}
    </div>
  )
}
