import { complexityFromQuery } from '@pothos/plugin-complexity'
import { getOperationAST, GraphQLError, Kind, type ExecutionArgs, type DocumentNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { tooMuch } from './query-cost.ts'

/** Subscriptions are weighed before they open: the resolvers' own check would come with each event. */
export function useSubscriptionCost(): Plugin {
  return {
    onSubscribe({ args, setResultAndStopExecution }) {
      const error = weigh(args)
      if (error) setResultAndStopExecution({ errors: [error] })
    },
  }
}

function weigh({ schema, document, operationName, variableValues }: ExecutionArgs): GraphQLError | undefined {
  const operation = alone(document, operationName)
  if (!operation) return undefined
  const error = tooMuch(complexityFromQuery(operation, { schema, variables: { ...variableValues } }))
  return error && new GraphQLError(error.message, { extensions: { code: error.code } })
}

/** The operation asked for and all fragments: what is weighed is the document's first. */
function alone(document: DocumentNode, name: string | null | undefined): DocumentNode | undefined {
  const operation = getOperationAST(document, name)
  if (!operation) return undefined
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  return { ...document, definitions: [operation, ...fragments] }
}
