import type { ExecutionArgs, ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { RepriseError } from '../domain/errors.ts'
import type { Admission } from '../services/admission.ts'
import type { GraphQLContext } from './context.ts'
import { tooManyRequests } from './too-many-requests.ts'

type Execute = (args: ExecutionArgs) => Promise<ExecutionResult>

/** Queries and mutations of all transports wait for their turn. */
export function useAdmission(admission: Admission): Plugin<GraphQLContext> {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args: ExecutionArgs): Promise<ExecutionResult> => {
        const { viewer } = args.contextValue as GraphQLContext
        let leave: () => void
        try {
          leave = await admission.enter(viewer)
        } catch (error) {
          if (error instanceof RepriseError) return { errors: [tooManyRequests(error)] }
          throw error
        }
        try {
          return await (executeFn as Execute)(args)
        } finally {
          leave()
        }
      })
    },
  }
}
