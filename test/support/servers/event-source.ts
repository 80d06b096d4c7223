/** A client of server-sent events, one request each: it does not reconnect by itself. */

export interface ReceivedEvent {
  id: string | undefined
  event: string
  // Tests know the shape of what they follow.
  data: any
}

export interface EventSource {
  response: Response
  /** The last `id:` that came, whether with an event or not. */
  readonly lastId: string | undefined
  /** Comments that came. */
  readonly comments: number
  /** The next event; null after the last one. */
  next(): Promise<ReceivedEvent | null>
  /** The next ones, which must come. */
  take(count: number): Promise<ReceivedEvent[]>
  close(): Promise<void>
}

/** Resolves with the answer's beginning: the subscription is then in place. */
export async function openEventSource(
  url: string,
  options: { token: string; lastEventId?: string | undefined },
): Promise<EventSource> {
  const hangUp = new AbortController()
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${options.token}`,
      ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
    },
    signal: hangUp.signal,
  })
  if (!response.ok) throw Object.assign(new Error(`status ${response.status}`), { body: await response.json() })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let lastId: string | undefined
  let comments = 0

  /** The next block of lines; null at the end. */
  async function block(): Promise<string | null> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const found = text.slice(0, end)
        text = text.slice(end + 2)
        return found
      }
      const { done, value } = await reader.read()
      if (done) return null
      text += decoder.decode(value, { stream: true })
    }
  }

  async function next(): Promise<ReceivedEvent | null> {
    for (;;) {
      const lines = (await block())?.split('\n')
      if (!lines) return null
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const [id, event, data] = [field('id'), field('event'), field('data')]
      comments += lines.filter((line) => line.startsWith(':')).length
      lastId = id ?? lastId
      if (data !== undefined) return { id, event: event ?? 'message', data: JSON.parse(data) }
    }
  }

  // The first block says from where a client goes on.
  const first = await block()
  lastId = /^id: (.*)$/m.exec(first ?? '')?.[1]
  return {
    response,
    get lastId() {
      return lastId
    },
    get comments() {
      return comments
    },
    next,
    async take(count) {
      const events: ReceivedEvent[] = []
      while (events.length < count) {
        const event = await next()
        if (event === null) throw new Error(`the stream ended after ${events.length} of ${count} events`)
        events.push(event)
      }
      return events
    },
    async close() {
      hangUp.abort()
      await reader.cancel().catch(() => {})
    },
  }
}

/** The text of any answer; of a stream of events, which need not end, what comes first. */
export async function textOfAnswer(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body!.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}
