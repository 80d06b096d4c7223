import type { FailureGroup } from '../../../services/session/read-failure-groups.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { Label } from '../session/pairs.type.ts'

export const FailureGroupingEnum = builder.enumType('FailureGrouping', {
  description: 'By what failures are counted together.',
  values: {
    CAUSE: { description: 'By their cause.' },
    EXIT_CODE: { description: 'By their exit code, as far as they have one.' },
    NAME: { description: 'By the name of the session.' },
    LABEL: { description: "By each of the session's labels: one with several is counted for each." },
    AGENT: { description: 'By the agents of the kernels: one on several agents is counted for each.' },
  } as const,
})

export const FailureGroupType = builder.objectRef<FailureGroup>('FailureGroup').implement({
  description: 'Attempts that failed and have something in common: the one of the fields that they were grouped by.',
  fields: (t) => ({
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description: 'Their cause.',
      resolve: ({ cause }) => cause ?? null,
    }),
    exitCode: t.int({ nullable: true, description: 'Their exit code.', resolve: ({ exitCode }) => exitCode ?? null }),
    name: t.string({ nullable: true, description: 'The name of their sessions.', resolve: ({ name }) => name ?? null }),
    label: t.field({
      type: Label,
      nullable: true,
      description: 'A label of their sessions.',
      resolve: ({ labelKey, labelValue }) =>
        labelKey === undefined ? null : { key: labelKey, value: labelValue ?? '' },
    }),
    agentId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'An agent that they were on.',
      resolve: ({ agentId }) => agentId ?? null,
    }),
    agentName: t.string({ nullable: true, description: 'Its name.', resolve: ({ agentName }) => agentName ?? null }),
    failed: t.exposeInt('failed', { description: 'How many attempts failed.' }),
    chains: t.exposeInt('chains', { description: 'Of how many chains they are.' }),
    lost: t.exposeInt('lost', { description: 'How many of these chains have failed for good.' }),
    latestAt: t.expose('latestAt', { type: 'DateTime', description: 'When the last one of them failed.' }),
  }),
})
