import { getOperationAST, OperationTypeNode, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { renew, type GraphQLContext } from './context.ts'

/**
 * The fields of a query are read in one state of the database, whatever is written meanwhile. Mutations see what they
 * have written, and each event of a subscription is read by itself, see `authorizedStream`.
 */
export function useConsistentReads(): Plugin<GraphQLContext> {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { document, operationName } = args as ExecutionArgs
      const operation = getOperationAST(document, operationName)
      if (operation?.operation !== OperationTypeNode.QUERY) return
      const context = args.contextValue
      setExecuteFn((given) =>
        context.services.consistently({
          kind: operation,
          work: () => executeFn(given) as ExecutionResult,
          again: () => renew(context),
        }),
      )
    },
  }
}
