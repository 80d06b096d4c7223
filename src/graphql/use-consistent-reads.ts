import { getOperationAST, OperationTypeNode, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { readTogether } from '../services/consistent-reads.ts'
import { renew, type GraphQLContext } from './context.ts'

/**
 * The fields of a query are read in one state of the database, whatever is written meanwhile; so is the payload of each
 * mutation, see `payloadReads`. Events of a
 * subscription are read by themselves, see `useEventsTogether`.
 */
export function useConsistentReads(): Plugin<GraphQLContext> {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { document, operationName } = args as ExecutionArgs
      const operation = getOperationAST(document, operationName)
      const context = args.contextValue
      const { services } = context
      if (operation?.operation === OperationTypeNode.QUERY) {
        setExecuteFn((given) =>
          services.consistently({
            kind: operation,
            work: () => executeFn(given) as ExecutionResult,
            again: () => renew(context),
          }),
        )
      } else if (operation?.operation === OperationTypeNode.MUTATION) {
        setExecuteFn(async (given) => {
          const { result } = await readTogether(services.prisma, () => executeFn(given) as ExecutionResult)
          return result
        })
      }
    },
  }
}
