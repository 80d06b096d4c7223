import type { Backtest, Expected, LostSuccesses } from '../../../domain/insight/backtest/backtest.ts'
import type { UnknownReason } from '../../../domain/insight/backtest/replay-chain.ts'
import { BACKTEST_CHAINS_MAX, BACKTEST_EXAMPLES_MAX, BACKTEST_NAMES_MAX } from '../../../domain/limits.ts'
import { abortableGenerator } from '../../../events/abortable-generator.ts'
import {
  type BACKTEST_BASES,
  type BacktestProgress,
  type BacktestReport,
  backtestRetryPolicy,
  followBacktest,
} from '../../../services/insight/backtest.ts'
import { builder } from '../../builder.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { AirflowExplanationType, AirflowSettingsInput, TimeWindow } from '../retry/retry-preview.operations.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { SessionFilter } from '../session/session.inputs.ts'

const EXAMPLES = `Ids of the newest of these chains, at most ${BACKTEST_EXAMPLES_MAX}.`
const SLOT_SECONDS = 'running time × CPUs of all kernels'

const RecordedType = builder.objectRef<Backtest['recorded']>('BacktestRecorded').implement({
  description: 'What really happened to the chains of a backtest.',
  fields: (t) => ({
    chains: t.exposeInt('chains', { description: 'Number of chains.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of their attempts.' }),
    slotSeconds: t.exposeFloat('slotSeconds', { description: `CPU seconds that they held: ${SLOT_SECONDS}.` }),
    succeeded: t.exposeInt('succeeded', { description: 'Number of chains that succeeded.' }),
  }),
})

const SameType = builder.objectRef<Backtest['same']>('BacktestSame').implement({
  description: 'Chains that would have ended alike, with as many attempts.',
  fields: (t) => ({
    chains: t.exposeInt('chains', { description: 'Number of chains.' }),
    laterSeconds: t.exposeFloat('laterSeconds', {
      description: 'How much later they would have ended, in sum; negative if sooner.',
    }),
  }),
})

const LostType = builder.objectRef<LostSuccesses>('BacktestLostSuccesses').implement({
  description: 'Chains of one name that succeeded, and would not have.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Their name.' }),
    project: t.exposeString('project', { description: 'Name of their project.' }),
    successes: t.exposeInt('successes', { description: 'Number of chains.' }),
    exampleChainIds: t.expose('examples', { type: ['UUID'], description: EXAMPLES }),
  }),
})

const EarlierType = builder.objectRef<Backtest['earlier']>('BacktestEarlier').implement({
  description: 'Chains that would have ended with fewer attempts, or without the success that they had.',
  fields: (t) => ({
    chains: t.exposeInt('chains', { description: 'Number of chains.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts that they would not have had.' }),
    slotSeconds: t.exposeFloat('slotSeconds', { description: `CPU seconds of these attempts: ${SLOT_SECONDS}.` }),
    seconds: t.exposeFloat('seconds', {
      description: 'How much sooner they would have ended, in sum; negative if later.',
    }),
    successesLost: t.exposeInt('successesLost', { description: 'Number of chains that would not have succeeded.' }),
    lost: t.expose('lost', {
      type: [LostType],
      description: `Those that would not have succeeded, by name, most first; at most ${BACKTEST_NAMES_MAX} names.`,
    }),
    exampleChainIds: t.expose('examples', { type: ['UUID'], description: EXAMPLES }),
  }),
})

const ExpectedType = builder.objectRef<Expected>('BacktestExpected').implement({
  description:
    'Successes of retries that nobody made, estimated from recorded retries after the same failure in the same project, at the same position in the chain; after a transient failure, at about the same time since the first failure.',
  fields: (t) => ({
    successes: t.exposeFloat('successes', { description: 'Number of successes that is expected.' }),
    low: t.exposeFloat('low', { description: 'Lower bound of the 95 % interval (Wilson).' }),
    high: t.exposeFloat('high', { description: 'Upper bound of the 95 % interval (Wilson).' }),
    chains: t.exposeInt('chains', {
      description: 'Number of chains that are estimated; the others would have failed.',
    }),
    comparable: t.exposeInt('n', { description: 'Number of recorded retries that the estimate rests on.' }),
  }),
})

const LongerType = builder.objectRef<Backtest['longer']>('BacktestLonger').implement({
  description: 'Chains that would have had more attempts.',
  fields: (t) => ({
    chains: t.exposeInt('chains', { description: 'Number of chains.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of additional attempts, at most: if none succeeds.' }),
    slotSeconds: t.exposeFloat('slotSeconds', {
      description: `CPU seconds of these attempts, if each holds as many as the chain's last one: ${SLOT_SECONDS}.`,
    }),
    expected: t.expose('expected', { type: ExpectedType, description: 'The successes that are expected of them.' }),
    exampleChainIds: t.expose('examples', { type: ['UUID'], description: EXAMPLES }),
  }),
})

const UnknownReasonEnum = builder.enumType('BacktestUnknownReason', {
  description: 'Why it is unknown what would have become of a chain.',
  values: {
    NO_COMPARABLE: { description: 'It would have had more retries, and too few recorded ones are comparable.' },
    OTHER_SIZE: { description: 'A retry would have had other resources or another timeout, and these decide.' },
    OTHER_TIME: { description: 'A retry would have come when it is not known whether the outage was over.' },
    TOO_LONG: { description: 'It has too many attempts.' },
  } as const satisfies Record<UnknownReason, { description: string }>,
})

const UnknownType = builder.objectRef<Backtest['unknown'][number]>('BacktestUnknown').implement({
  description: 'Chains of which the record does not tell what would have become of them.',
  fields: (t) => ({
    reason: t.expose('reason', { type: UnknownReasonEnum, description: 'Why it is unknown.' }),
    chains: t.exposeInt('chains', { description: 'Number of chains.' }),
    attempts: t.exposeInt('attempts', {
      description: 'Number of additional attempts, at most, with NO_COMPARABLE; otherwise 0.',
    }),
    slotSeconds: t.exposeFloat('slotSeconds', { description: `CPU seconds of these attempts: ${SLOT_SECONDS}.` }),
    exampleChainIds: t.expose('examples', { type: ['UUID'], description: EXAMPLES }),
  }),
})

const OutcomesType = builder.objectRef<Backtest>('BacktestOutcomes').implement({
  description: 'What a policy would have made of finished chains. Each chain is in one of the outcomes.',
  fields: (t) => ({
    same: t.expose('same', { type: SameType, description: 'Chains that would have ended alike.' }),
    earlier: t.expose('earlier', { type: EarlierType, description: 'Chains that would have stopped earlier.' }),
    longer: t.expose('longer', { type: LongerType, description: 'Chains that would have continued longer.' }),
    unknown: t.expose('unknown', { type: [UnknownType], description: 'The others, by reason.' }),
  }),
})

const AirflowBacktestType = builder.objectRef<NonNullable<BacktestReport['airflow']>>('AirflowBacktest').implement({
  description: "The same chains under an Airflow operator's settings.",
  fields: (t) => ({
    outcomes: t.expose('backtest', {
      type: OutcomesType,
      description: 'What the policy that behaves most like the settings would have made of the chains.',
    }),
    explanation: t.expose('explanation', {
      type: AirflowExplanationType,
      description: 'What that policy has in common with Airflow.',
    }),
  }),
})

export const BacktestType = builder.objectRef<BacktestReport>('RetryBacktest').implement({
  description: 'What a policy would have made of the chains that have finished in a span of time.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'Beginning of the span.' }),
    to: t.expose('to', { type: 'DateTime', description: 'End of the span, exclusive.' }),
    isComplete: t.exposeBoolean('isComplete', {
      description: `Whether all chains were replayed; if not, the newest ${BACKTEST_CHAINS_MAX} or so.`,
    }),
    recorded: t.field({
      type: RecordedType,
      description: 'What really happened.',
      resolve: ({ backtest }) => backtest.recorded,
    }),
    outcomes: t.expose('backtest', { type: OutcomesType, description: 'What the policy would have made of them.' }),
    airflow: t.expose('airflow', {
      type: AirflowBacktestType,
      nullable: true,
      description: "The same under the settings of `airflow`; null if they weren't given.",
    }),
  }),
})

const BaseEnum = builder.enumType('BacktestBase', {
  description: 'What the fields of a policy are laid over.',
  values: {
    DEFAULTS: { description: "The project's defaults, as for a new session." },
    OWN_POLICY: {
      description:
        'The policy that each chain really had. Given rules come before its own, all other fields replace its own.',
    },
  } as const satisfies Record<(typeof BACKTEST_BASES)[number], { description: string }>,
})

type Arguments = Parameters<Parameters<typeof builder.queryField>[1]>[0]['arg']

const backtestArguments = (arg: Arguments) => ({
  policy: arg({ type: RetryPolicyInput, required: true, description: 'The policy.' }),
  base: arg({ type: BaseEnum, defaultValue: 'DEFAULTS', description: 'What its missing fields come from.' }),
  airflow: arg({ type: AirflowSettingsInput, description: 'Settings of an Airflow operator, to compare with.' }),
  filter: arg({
    type: SessionFilter,
    description: 'Only chains of which an attempt that ended within the window matches.',
  }),
  window: arg({ type: TimeWindow, description: 'When such an attempt ended; the last 30 days if missing.' }),
})

/** It reads and decides about as many chains as there are. */
const COST = 1_000

builder.queryField('backtestRetryPolicy', (t) =>
  t.field({
    type: BacktestType,
    description:
      'Replays finished chains under another policy: what it would have saved, lost and cost. Changes nothing. It takes up to half a minute; `retryBacktestProgress` shows how far it is. Each person runs one at a time.',
    args: backtestArguments(t.arg),
    complexity: { field: COST },
    resolve: (_root, args, context) =>
      backtestRetryPolicy({ ...context, prisma: context.services.prisma }, args, context.left),
  }),
)

const ProgressType = builder.objectRef<BacktestProgress>('RetryBacktestProgress').implement({
  description: 'The progress of a backtest.',
  fields: (t) => ({
    share: t.exposeFloat('share', { description: 'Part of the span that has been replayed, 0 to 1.' }),
    chains: t.exposeInt('chains', { description: 'Number of chains that have been replayed.' }),
    backtest: t.expose('report', {
      type: BacktestType,
      nullable: true,
      description: 'The result; null until it is complete, which is the last event.',
    }),
  }),
})

builder.subscriptionField('retryBacktestProgress', (t) =>
  t.field({
    type: ProgressType,
    description:
      'Runs a backtest as `backtestRetryPolicy` does, and sends its progress several times a second and its result at the end. Completes when it has sent the result; ending the subscription cancels it.',
    args: backtestArguments(t.arg),
    complexity: { field: COST },
    subscribe: (_root, args, context) => {
      const reading = { ...context, prisma: context.services.prisma }
      const events = abortableGenerator(async function* (signal) {
        for await (const progress of await followBacktest(reading, args, signal)) yield [progress]
      })
      return authorizedEvents(context, events)
    },
    resolve: (progress) => progress,
  }),
)
