import { GraphQLError } from 'graphql'
import type { AirflowRelease } from '../../../../domain/retry/airflow/airflow-delay.ts'
import { builder } from '../../../builder.ts'

builder.scalarType('AirflowBackoff', {
  description: "Airflow's `retry_exponential_backoff`: true or false, or since Airflow 3.2 a multiplier.",
  parseValue(value) {
    if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value
    throw new GraphQLError(`AirflowBackoff cannot represent ${JSON.stringify(value)}: it is true, false or a number`)
  },
})

const AirflowReleaseEnum = builder.enumType('AirflowRelease', {
  description: 'Releases of Airflow, by how they compute delays.',
  values: {
    AIRFLOW_2_5: { description: 'Up to 2.5.3: no limit of 24 hours yet.' },
    AIRFLOW_2_6: { description: '2.6 to 2.9.' },
    AIRFLOW_2_10: { description: '2.10 to 3.1.' },
    AIRFLOW_3_2: { description: '3.2 and later.' },
  } as const satisfies Record<AirflowRelease, { description: string }>,
})

export const AirflowSettingsInput = builder.inputType('AirflowSettingsInput', {
  description: "An Airflow operator's settings. Durations are seconds. Missing settings have Airflow's own defaults.",
  fields: (t) => ({
    release: t.field({ type: AirflowReleaseEnum, description: 'Whose formula; 3.2 if not given.' }),
    retries: t.int({ description: '`retries`; 0 if not given.' }),
    retryDelay: t.float({ description: '`retry_delay`; 300 if not given.' }),
    retryExponentialBackoff: t.field({
      type: 'AirflowBackoff',
      description: '`retry_exponential_backoff`; false if not given.',
    }),
    maxRetryDelay: t.float({ description: '`max_retry_delay`.' }),
    dagId: t.string({ description: 'With `taskId`: computes the jitter that Airflow gives this task.' }),
    taskId: t.string({ description: 'With `dagId`.' }),
    logicalDate: t.string({
      description: "In Python's format: `2026-01-31 00:00:00+00:00`. Omit it for a run without a logical date.",
    }),
  }),
})
