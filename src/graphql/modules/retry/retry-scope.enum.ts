import { builder } from '../../builder.ts'

export const RetryScopeEnum = builder.enumType('RetryScope', {
  description: 'Where something about retries is set.',
  values: {
    CLUSTER: { description: 'For everything.' },
    DOMAIN: { description: 'For all projects of a domain.' },
    PROJECT: { description: 'For one project.' },
  } as const,
})
