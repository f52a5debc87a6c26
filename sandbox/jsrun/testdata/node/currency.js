const rows = [{ name: 'Widget', price: 1234.5, qty: 3 }, { name: 'Gadget', price: 0.99, qty: 1200 }, { name: 'Refund', price: -19.999, qty: 1 }];
const usd = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
for (const r of rows) console.log(r.name.padEnd(8), usd.format(r.price * r.qty).padStart(12), (r.price * r.qty).toLocaleString('de-DE', { style: 'currency', currency: 'EUR' }), (r.price).toLocaleString('ja-JP', { style: 'currency', currency: 'JPY' }));
console.log(rows.reduce((s, r) => s + r.price * r.qty, 0).toLocaleString(undefined, { maximumFractionDigits: 2 }), (0.1234).toLocaleString('en-US', { style: 'percent', minimumFractionDigits: 1 }));
