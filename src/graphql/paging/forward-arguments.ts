import type { builder } from '../builder.ts'

type FieldBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0]

/** `first` and `after`, for connections that are only read forward. */
export function forwardArguments({ arg }: Pick<FieldBuilder, 'arg'>) {
  return {
    first: arg.int({ description: 'Page size, at most 100; 20 by default.' }),
    after: arg.string({ description: 'The cursor after which the page starts.' }),
  }
}
