import { GraphQLError } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { unreadable } from './whole-request.ts'

/** Variables and extensions stand as JSON in a URL or a form; what is none is the client's fault, not the server's. */
export function useReadableParameters(): Plugin {
  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (!requestParser) return
      setRequestParser((request) => {
        try {
          const parsed = requestParser(request)
          return parsed instanceof Promise ? (parsed.catch(refuse) as Promise<GraphQLParams>) : parsed
        } catch (error) {
          return refuse(error)
        }
      })
    },
  }
}

function refuse(error: unknown): never {
  throw error instanceof GraphQLError ? error : unreadable('The variables or extensions are not JSON.')
}
