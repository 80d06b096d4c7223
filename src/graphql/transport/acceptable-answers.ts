import type { Plugin } from 'graphql-yoga'

const MESSAGE =
  'The answer to this operation is not available in a media type that the request accepts. Queries and mutations are answered as application/graphql-response+json or application/json, subscriptions as text/event-stream; or use a WebSocket with graphql-transport-ws.'

/**
 * Answers are not sent in parts of `multipart/mixed`, which nothing here needs: the server's own way to do so has both
 * `Transfer-Encoding` and `Content-Length` (RFC 9112, 6.2).
 */
export function useAcceptableAnswers(): Plugin {
  return {
    onResultProcess({ acceptableMediaTypes, resultProcessor, setResultProcessor }) {
      const chosen = acceptableMediaTypes.length > 0 ? resultProcessor : undefined
      if (chosen && !isMultipart(chosen)) return
      const text = JSON.stringify({ errors: [{ message: MESSAGE, extensions: { code: 'NOT_ACCEPTABLE' } }] })
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      setResultProcessor(
        (_result, fetchAPI) => new fetchAPI.Response(text, { status: 406, headers }),
        'application/json',
      )
    },
  }
}

function isMultipart({ name }: { name: string }): boolean {
  return name === 'processMultipartResult'
}
