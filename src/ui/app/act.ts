import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useCallback } from 'react'
import { useClient } from 'urql'
import { type Problem, problemOf } from '../api/problem.ts'
import { toast } from './toasts.tsx'

interface Refused {
  code: string
  message: string
  issues?: readonly { path: string; message: string }[]
}

/** The answer of a mutation that succeeded. */
type Payload<Data> = Exclude<Data[Exclude<keyof Data, '__typename'>], { message: string }>

export type Sent<Data> = { done: Payload<Data>; problem: null } | { done: null; problem: Problem }

/** Sends a mutation of one field. Returns refusals by the server and failures on the way to it in the same form. */
export function useSend() {
  const client = useClient()
  return useCallback(
    async <Data extends object, Variables extends AnyVariables>(
      document: TypedDocumentNode<Data, Variables>,
      variables: Variables,
    ): Promise<Sent<Data>> => {
      const { data, error } = await client.mutation(document, variables).toPromise()
      if (!data) return { done: null, problem: problemOf(error ?? new Error('The server sent no answer')) }
      // The cache adds the type name of the root.
      const answer = Object.entries(data).find(([field]) => field !== '__typename')![1] as Payload<Data> | Refused
      if (!('message' in (answer as object))) return { done: answer as Payload<Data>, problem: null }
      const { code, message, issues = [] } = answer as Refused
      return { done: null, problem: { code, message, issues, requestId: null } }
    },
    [client],
  )
}

/**
 * Like `useSend`, and shows the result as a toast: `done` after success (null: the caller shows it), else `about`
 * with the reason. Returns null after a failure.
 */
export function useAct() {
  const send = useSend()
  return useCallback(
    async <Data extends object, Variables extends AnyVariables>(
      document: TypedDocumentNode<Data, Variables>,
      variables: Variables,
      { about, done: doneWords }: { about: string; done: string | null },
    ): Promise<Payload<Data> | null> => {
      const { done, problem } = await send(document, variables)
      if (problem) toast('refused', `${about}: ${problem.message}`)
      else if (doneWords !== null) toast('done', doneWords)
      return done
    },
    [send],
  )
}
