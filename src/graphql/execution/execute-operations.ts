import { type ExecutionArgs, type ExecutionResult, getOperationAST, OperationTypeNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { RepriseError } from '../../domain/errors.ts'
import type { Admission } from '../../services/access/admission.ts'
import { readFor, readTogether } from '../../services/consistent-reads.ts'
import { nextTurn } from '../../services/next-turn.ts'
import { type GraphQLContext, readerOf, renew, writerOf } from '../context.ts'
import { tooManyRequests } from '../error-presentation.ts'
import type { WholeRequest } from '../transport/whole-request.ts'

type Execute = (args: ExecutionArgs) => Promise<ExecutionResult>
type Subscribe = (args: ExecutionArgs) => unknown

/**
 * Makes queries and mutations of all transports wait for admission. Reads of all operations are charged to the token.
 */
export function useAdmission(admission: Admission): Plugin<GraphQLContext> {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args: ExecutionArgs): Promise<ExecutionResult> => {
        const context = args.contextValue as GraphQLContext
        let leave: () => void
        try {
          leave = await admission.enter(context.viewer)
        } catch (error) {
          if (error instanceof RepriseError) return { errors: [tooManyRequests(error)] }
          throw error
        }
        try {
          // Lets other requests run first: checking the variables of a large request took long, and the execution
          // checks them again.
          if (isLarge(context)) await nextTurn()
          return await readFor(isMutation(args) ? writerOf(context) : readerOf(context), () =>
            (executeFn as Execute)(args),
          )
        } finally {
          leave()
        }
      })
    },
    onSubscribe({ subscribeFn, setSubscribeFn }) {
      setSubscribeFn((args: ExecutionArgs) =>
        readFor(readerOf(args.contextValue as GraphQLContext), () => (subscribeFn as Subscribe)(args)),
      )
    },
  }
}

function isLarge(context: object): boolean {
  return (context as { request?: Partial<WholeRequest> }).request?.isLarge === true
}

function isMutation({ document, operationName }: ExecutionArgs): boolean {
  return getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION
}

/**
 * Reads all fields of a query from one state of the database, even if data is written meanwhile. The same holds for the
 * payload of each mutation (see `payloadReads`) and for the events of a subscription (see `useEventsTogether`).
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
