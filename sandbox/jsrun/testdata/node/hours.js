const d = new Date('2024-07-05T04:07:09Z');
for (const l of ['en-GB', 'de', 'fr', 'it', 'es', 'en-US', 'nl', 'pl', 'pt-BR', 'ja'])
  for (const o of [{ minute: '2-digit' }, { minute: 'numeric', second: '2-digit' }])
    for (const w of l === 'de' ? [undefined] : [undefined, 'short', 'long'])
      for (const z of [undefined, 'short'])
        for (const date of [{}, { day: 'numeric', month: 'short' }, { day: '2-digit', month: '2-digit', year: 'numeric' }])
          console.log(l, d.toLocaleString(l, { timeZone: 'UTC', hour: 'numeric', weekday: w, timeZoneName: z, ...o, ...date }));
