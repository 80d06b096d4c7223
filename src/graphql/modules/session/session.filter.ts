import { ID_PREFIX_WORDS } from '../../../services/input/id-prefix.ts'
import type { SessionFilterInput } from '../../../services/session/session-where.ts'
import { builder } from '../../builder.ts'
import { DateTimeFilter, IntRange, StringFilter } from '../filters.inputs.ts'
import { FailureCauseEnum, RetryPhaseEnum } from '../retry/retry.enums.ts'
import { LabelInput } from './pairs.inputs.ts'
import { SessionOriginEnum, SessionResultEnum, SessionStatusEnum, SessionTypeEnum } from './session.enums.ts'

const ref = builder.inputRef<SessionFilterInput>('SessionFilter')

export const SessionFilter = ref.implement({
  description: 'All given conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [SessionStatusEnum], description: 'In one of these statuses.' }),
    result: t.field({ type: [SessionResultEnum], description: 'With one of these results.' }),
    sessionType: t.field({ type: [SessionTypeEnum], description: 'Of one of these types.' }),
    project: t.string({ description: 'In the project of this name.' }),
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    parentSessionId: t.field({ type: 'UUID', description: 'The attempt after this one.' }),
    agent: t.field({ type: 'UUID', description: 'With a kernel that is, or was, on the agent of this id.' }),
    resourceGroup: t.string({ description: 'In the resource group of this name.' }),
    concurrencyKey: t.string({ description: 'With this concurrency key.' }),
    dependsOn: t.field({ type: 'UUID', description: 'That start only once this chain has succeeded.' }),
    retryCount: t.field({ type: IntRange, description: 'By `retryCount`.' }),
    maxRetries: t.field({ type: IntRange, description: 'By `maxRetries`.' }),
    failureCause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    failureReason: t.stringList({ description: 'With one of these `failureReason`s.' }),
    exitCode: t.intList({ description: 'Ended with one of these exit codes.' }),
    statusReason: t.field({ type: StringFilter, description: 'By `statusReason`: why it has its status, in words.' }),
    retryPhase: t.field({ type: [RetryPhaseEnum], description: 'With `retryState.phase` in one of these.' }),
    origin: t.field({ type: [SessionOriginEnum], description: 'Of one of these origins.' }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    label: t.field({ type: LabelInput, description: 'With this label.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'By when it was created.' }),
    AND: t.field({ type: [ref], description: 'All of these match.' }),
    OR: t.field({ type: [ref], description: 'At least one of these matches.' }),
    NOT: t.field({ type: ref, description: 'This does not match.' }),
  }),
})
