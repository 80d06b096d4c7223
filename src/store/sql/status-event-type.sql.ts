/** The type of the event about a session that came to be in status "to". */
export const STATUS_EVENT_TYPE = `CASE "to" WHEN 'TERMINATED' THEN 'session.terminated' WHEN 'ERROR' THEN 'session.error'
      WHEN 'CANCELLED' THEN 'session.cancelled' ELSE 'session.status_changed' END`
