import type { AnyVariables, Client, OperationResult, TypedDocumentNode } from '@urql/core'

const SENT_AT = 'sentAt'

/** For the answer to a request: when that was sent. */
export function withSentAt<Result extends OperationResult>(result: Result, sentAt: number): Result {
  return { ...result, extensions: { ...result.extensions, [SENT_AT]: sentAt } }
}

/**
 * What the server has from now on. The client sends nothing while the same is being read already, and takes for an
 * answer what the cache makes of it meanwhile: both may be older than what this is called for.
 */
export async function readAnew<Data, Variables extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<OperationResult<Data, Variables>> {
  const calledAt = performance.now()
  for (;;) {
    const result = await client.query(document, variables, { requestPolicy: 'network-only' }).toPromise()
    const sentAt = (result.extensions as Record<string, number> | undefined)?.[SENT_AT]
    if (sentAt !== undefined && sentAt >= calledAt) return result
  }
}
